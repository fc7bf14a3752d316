"""A parameter's value: on the wire, in a file, and beside another one.

PX4 puts an integer's bits into the float field of PARAM_VALUE and PARAM_SET (a union of bytes).
They must not pass through a float: some bit patterns are NaNs that a conversion changes.
"""

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from firmware_bridge.messages import dialect
from ghost.core.errors import ConfigError, shown

Value = int | float
WIRE_BYTES = 4
LONGEST_NAME = 16
REAL32: int = dialect.MAV_PARAM_TYPE_REAL32
INT32: int = dialect.MAV_PARAM_TYPE_INT32
KINDS: dict[int, str] = {1: "<B", 2: "<b", 3: "<H", 4: "<h", 5: "<I", 6: "<i", 9: "<f"}
"""struct's format of each MAV_PARAM_TYPE that fits the field; 7, 8 and 10 are 64 bits wide."""

_AUTOPILOT = 1


@dataclass(frozen=True, slots=True)
class Parameter:
    """kind is a MAV_PARAM_TYPE. A float is one that 32 bits hold exactly."""

    name: str
    value: Value
    kind: int

    def __post_init__(self) -> None:
        check_name(self.name)
        object.__setattr__(self, "value", from_wire(to_wire(self), self.kind))

    def __eq__(self, other: object) -> bool:
        """Bit by bit, so that NaN equals NaN."""
        if not isinstance(other, Parameter):
            return NotImplemented
        return (self.name, self.kind, to_wire(self)) == (other.name, other.kind, to_wire(other))

    def __hash__(self) -> int:
        return hash((self.name, self.kind, to_wire(self)))


@dataclass(frozen=True, slots=True)
class Difference:
    """None where a side lacks it."""

    name: str
    before: Value | None
    after: Value | None


def check_name(name: str) -> None:
    if not (name.isascii() and name.isprintable() and 0 < len(name) <= LONGEST_NAME) or " " in name:
        raise ConfigError(
            f"parameter name {shown(name)}; expected 1 to {LONGEST_NAME} ASCII characters"
        )


def to_wire(parameter: Parameter) -> bytes:
    """The four bytes of the field; ConfigError where the value doesn't fit the type."""
    name, value, kind = parameter.name, parameter.value, parameter.kind
    if kind not in KINDS:
        raise ConfigError(f"parameter {name} has type {kind}; expected one of {sorted(KINDS)}")
    if isinstance(value, bool) or not isinstance(value, int if kind != REAL32 else (int, float)):
        expected = "a number" if kind == REAL32 else "an integer"
        raise ConfigError(f"parameter {name} cannot be {shown(value)}; expected {expected}")
    try:
        return struct.pack(KINDS[kind], value).ljust(WIRE_BYTES, b"\0")
    except (struct.error, OverflowError):
        raise ConfigError(f"parameter {name} cannot hold {shown(value)}: out of range") from None


def from_wire(field: bytes, kind: int) -> Value:
    if kind not in KINDS:
        raise ConfigError(f"a parameter has type {kind}; expected one of {sorted(KINDS)}")
    form = KINDS[kind]
    value: Value = struct.unpack(form, field[: struct.calcsize(form)])[0]
    return value


def diff(before: Mapping[str, Parameter], after: Mapping[str, Parameter]) -> tuple[Difference, ...]:
    """What changed, by name."""
    names = sorted({*before, *after})
    return tuple(
        Difference(name, old.value if old else None, new.value if new else None)
        for name in names
        if (old := before.get(name)) != (new := after.get(name))
    )


def write_parameters(
    path: Path, parameters: Iterable[Parameter], *, system: int, component: int = _AUTOPILOT
) -> None:
    """In QGroundControl's form."""
    lines = [
        f"# Onboard parameters for Vehicle {system}",
        "#",
        "# Vehicle-Id Component-Id Name Value Type",
    ]
    for parameter in sorted(parameters, key=lambda one: one.name):
        fields = (system, component, parameter.name, shortest(parameter.value), parameter.kind)
        lines.append("\t".join(str(field) for field in fields))
    made = path.with_name(path.name + ".new")
    made.write_text("\n".join(lines) + "\n", encoding="utf-8")
    made.replace(path)


def read_parameters(path: Path, *, component: int = _AUTOPILOT) -> dict[str, Parameter]:
    """From QGroundControl's form; lines of other components are left out."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the parameters {path}: {error}") from None
    parameters: dict[str, Parameter] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            owner, parameter = _parse(line)
        except (ConfigError, ValueError) as error:
            raise ConfigError(f"{path}:{number}: {error}") from None
        if owner != component:
            continue
        if parameter.name in parameters:
            raise ConfigError(f"{path}:{number}: {parameter.name} is there twice")
        parameters[parameter.name] = parameter
    return parameters


def shortest(value: Value) -> str:
    """The fewest digits that 32 bits read back exactly, and 40 rather than 4e+01."""
    if isinstance(value, int):
        return str(value)
    wanted = struct.pack("<f", value)
    for digits in range(1, 9):
        text = f"{value:.{digits}g}"
        try:
            if struct.pack("<f", float(text)) == wanted:
                return f"{float(text):.9g}"
        except OverflowError:  # fewer digits may round up beyond the largest
            continue
    return f"{value:.9g}"


def _parse(line: str) -> tuple[int, Parameter]:
    fields = line.rstrip("\r").split("\t")
    if len(fields) != 5:
        raise ConfigError(
            f"{len(fields)} fields in {shown(line)}; expected system, component, name, value and "
            "type with tabs between"
        )
    _, component, name, value, kind = fields
    number = int(kind)
    return int(component), Parameter(name, float(value) if number == REAL32 else int(value), number)
