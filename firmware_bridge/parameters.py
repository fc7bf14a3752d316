"""A flight controller's parameters: read, set, saved and put back.

https://mavlink.io/en/services/parameter.html with PX4's way of sending integers.
"""

import difflib
import struct
from collections.abc import Callable
from pathlib import Path

from firmware_bridge.exchange import is_to, persist, target_of
from firmware_bridge.hub import Received
from firmware_bridge.messages import dialect, id_of
from firmware_bridge.parameter_values import (
    KINDS,
    LONGEST_NAME,
    WIRE_BYTES,
    Parameter,
    Value,
    check_name,
    from_wire,
    read_parameters,
    to_wire,
    write_parameters,
)
from firmware_bridge.vehicle import Vehicle
from ghost.core.errors import ConfigError, RefusedError, StalledError

QUIET_NS = 500_000_000
RETRIES = 4
MOST_AT_ONCE = 32
"""Missing ones are asked for in handfuls: a serial link has little room."""

_NO_INDEX = 65535
_ERRORS = (
    "NO_ERROR",
    "DOES_NOT_EXIST",
    "VALUE_OUT_OF_RANGE",
    "PERMISSION_DENIED",
    "COMPONENT_NOT_FOUND",
    "READ_ONLY",
    "TYPE_UNSUPPORTED",
    "TYPE_MISMATCH",
    "READ_FAIL",
)
"""MAV_PARAM_ERROR; pymavlink 2.4.50 knows the first six."""
_DOES_NOT_EXIST = 1

Progress = Callable[[int, int], None]


class Parameters:
    """known holds what was heard so far, whoever asked for it."""

    def __init__(self, vehicle: Vehicle) -> None:
        self.known: dict[str, Parameter] = {}
        self._vehicle = vehicle
        self._hub = vehicle.hub
        self._by_index: dict[int, str] = {}
        self._count: int | None = None
        self._asked: set[int] = set()
        self._heard: dict[str, int] = {}
        self._errors: dict[str, int] = {}
        self._cancels = (
            self._hub.on("PARAM_VALUE", self._on_value),
            self._hub.on("PARAM_ERROR", self._on_error),
        )

    def read_all(self, on_progress: Progress = lambda *_: None) -> dict[str, Parameter]:
        """Every parameter that is in use, by name. on_progress is told how many of how many."""
        self._by_index.clear()
        self._asked.clear()
        self._count = None
        told = -1

        def is_done() -> bool:
            nonlocal told
            if self._count is not None and len(self._by_index) != told:
                told = len(self._by_index)
                on_progress(told, self._count)
            return self._count is not None and len(self._by_index) >= self._count

        def what() -> str:
            missing = self._missing()
            if self._count is None:
                return "reading the parameters"
            return (
                f"reading the parameters: {len(missing)} of {self._count} are missing, "
                f"the first has index {missing[0]}"
            )

        persist(
            self._hub,
            self._ask_for_missing,
            is_done=is_done,
            progress=lambda: len(self._by_index),
            quiet_ns=QUIET_NS,
            retries=RETRIES,
            what=what,
        )
        return {name: self.known[name] for name in sorted(self._by_index.values())}

    def get(self, name: str) -> Value:
        """As the flight controller has it now."""
        return self._read(name).value

    def set(self, name: str, value: Value) -> None:
        """Send until the flight controller says that it has this value. RefusedError where it says
        no, or keeps another one.
        """
        known = self.known.get(name) or self._read(name)
        wanted = Parameter(name, value, known.kind)
        self._errors.pop(name, None)
        asked = 0

        def ask() -> None:
            nonlocal asked
            asked += 1
            self._heard[name] = 0
            self.known[name] = known
            self._vehicle.send(_ParameterSet(self._target, wanted))

        def is_done() -> bool:
            has_it = bool(self._heard[name]) and self.known[name] == wanted
            # Another value may be an old answer on its way; after asking again it is a no.
            return has_it or name in self._errors or (asked > 1 and bool(self._heard[name]))

        persist(
            self._hub,
            ask,
            is_done=is_done,
            progress=lambda: 0,
            quiet_ns=QUIET_NS,
            retries=RETRIES,
            what=lambda: f"setting parameter {name}",
        )
        self._raise_error(name)
        if (kept := self.known[name]) != wanted:
            raise RefusedError(f"parameter {name} was to be {wanted.value} and is {kept.value}")

    def export(self, path: Path) -> int:
        """Write all of them to a .params file; how many there are."""
        parameters = self.read_all()
        write_parameters(path, parameters.values(), system=self._target[0])
        return len(parameters)

    def load(self, path: Path) -> tuple[str, ...]:
        """Set what the file has otherwise; the names of those. One that is not taken doesn't keep
        the others from it: RefusedError names all such at the end.
        """
        wanted = read_parameters(path)
        current = self.read_all()
        changed = tuple(
            name for name, parameter in sorted(wanted.items()) if current.get(name) != parameter
        )
        failures: list[str] = []
        for name in changed:
            try:
                self.set(name, wanted[name].value)
            except (ConfigError, RefusedError) as error:
                failures.append(str(error))
        if failures:
            raise RefusedError(
                f"{len(failures)} of {len(changed)} parameters of {path} were not taken: "
                f"{'; '.join(failures)}"
            )
        return changed

    def close(self) -> None:
        for cancel in self._cancels:
            cancel()

    def _read(self, name: str) -> Parameter:
        check_name(name)
        self._errors.pop(name, None)
        self._heard[name] = 0
        try:
            persist(
                self._hub,
                lambda: self._ask_for(name, -1),
                is_done=lambda: bool(self._heard[name]) or name in self._errors,
                progress=lambda: 0,
                quiet_ns=QUIET_NS,
                retries=RETRIES,
                what=lambda: f"reading parameter {name}",
            )
        except StalledError:
            if self._count is None or name in self.known:
                raise
            raise self._unknown(name) from None  # before v1.18 PX4 says nothing to such a name
        self._raise_error(name)
        return self.known[name]

    def _raise_error(self, name: str) -> None:
        error = self._errors.pop(name, None)
        if error is None:
            return
        if error == _DOES_NOT_EXIST:
            raise self._unknown(name)
        reason = _ERRORS[error] if error < len(_ERRORS) else f"error {error}"
        raise RefusedError(f"parameter {name} was refused: {reason}")

    def _unknown(self, name: str) -> ConfigError:
        near = difflib.get_close_matches(name, sorted(self.known), n=1, cutoff=0.0)
        hint = f"; the nearest is {near[0]}" if near else ""
        return ConfigError(f"the flight controller has no parameter {name}{hint}")

    def _missing(self) -> list[int]:
        return [index for index in range(self._count or 0) if index not in self._by_index]

    def _ask_for_missing(self) -> None:
        """The next handful, or all while nothing is known."""
        missing = self._missing()[:MOST_AT_ONCE]
        if not missing:
            self._vehicle.send(dialect.MAVLink_param_request_list_message(*self._target))
        for index in missing:
            self._ask_for("", index)
        self._asked = set(missing)

    def _ask_for(self, name: str, index: int) -> None:
        self._vehicle.send(
            dialect.MAVLink_param_request_read_message(*self._target, name.encode("ascii"), index)
        )

    @property
    def _target(self) -> tuple[int, int]:
        return target_of(self._vehicle)

    def _on_value(self, received: Received) -> None:
        message = received.message
        if not self._vehicle.is_mine(received) or message.param_type not in KINDS:
            return
        field = received.frame.payload[:WIRE_BYTES].ljust(WIRE_BYTES, b"\0")
        name, index = message.param_id, message.param_index
        value = from_wire(field, message.param_type)
        try:
            self.known[name] = Parameter(name, value, message.param_type)
        except ConfigError:  # a name that is none
            return
        self._heard[name] = self._heard.get(name, 0) + 1
        if index == _NO_INDEX or index >= message.param_count:  # a hash, or one not in use
            return
        if message.param_count != self._count:
            # A module that starts brings more of them into use, and every index may be another.
            self._by_index.clear()
            self._count = message.param_count
        self._by_index[index] = name
        if index in self._asked:
            self._asked.remove(index)
            if not self._asked and self._missing():
                self._ask_for_missing()

    def _on_error(self, received: Received) -> None:
        message = received.message
        if self._vehicle.is_mine(received) and is_to(self._hub, received) and message.param_id:
            self._errors[message.param_id] = message.error


class _ParameterSet:
    """PARAM_SET with the bytes of its value untouched: pymavlink's takes a float."""

    crc_extra: int = dialect.MAVLink_param_set_message.crc_extra

    def __init__(self, target: tuple[int, int], parameter: Parameter) -> None:
        name = parameter.name.encode("ascii")
        self._payload = to_wire(parameter) + struct.pack(
            f"<BB{LONGEST_NAME}sB", *target, name, parameter.kind
        )

    def pack(self, _packer: object) -> None:
        """Nothing is left to pack."""

    def get_payload(self) -> bytes:
        return self._payload

    def get_msgId(self) -> int:  # noqa: N802 - the name that a message of pymavlink has
        return id_of("PARAM_SET")
