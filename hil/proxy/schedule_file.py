"""Schedules of faults in YAML: seconds there, nanoseconds here."""

from pathlib import Path
from typing import Any

import yaml

from ghost.core.errors import ConfigError, shown
from ghost.core.fields import (
    Reader,
    choice,
    integer,
    items,
    nanoseconds,
    number,
    section,
    text,
)
from hil.proxy.faults import (
    Bandwidth,
    Corrupt,
    Cut,
    Delay,
    Direction,
    Duplicate,
    Effect,
    Fault,
    Loss,
    Reorder,
    Replay,
    Schedule,
    Side,
    Unplug,
)

_LONGEST_S = 1e6
_PROBABILITY = {"probability": number(0.0, 1.0)}
_PERIOD = {"period_s": nanoseconds(1e-4, 3600.0)}

# Inject is missing: its packets are made by code, from messages.
_EFFECTS: dict[str, tuple[type[Effect], dict[str, Reader], tuple[str, ...]]] = {
    "cut": (Cut, {}, ()),
    "loss": (Loss, _PROBABILITY, ("probability",)),
    "duplicate": (Duplicate, {**_PROBABILITY, "copies": integer(1, 1000)}, ("probability",)),
    "delay": (
        Delay,
        {"delay_s": nanoseconds(0.0, 3600.0), "jitter_s": nanoseconds(0.0, 3600.0)},
        (),
    ),
    "reorder": (
        Reorder,
        {**_PROBABILITY, "depth": integer(1, 1000), "hold_s": nanoseconds(1e-9, 60.0)},
        ("probability",),
    ),
    "corrupt": (Corrupt, {**_PROBABILITY, "bits": integer(1, 64)}, ("probability",)),
    "bandwidth": (
        Bandwidth,
        {"bytes_per_s": integer(1, 10**9), "queue_bytes": integer(280, 1 << 24)},
        ("bytes_per_s",),
    ),
    "replay": (Replay, {**_PERIOD, "count": integer(1, 4096)}, ()),
    "unplug": (Unplug, {"side": lambda plain, path: Side(choice(*Side)(plain, path))}, ()),
}
_COMMON: dict[str, Reader] = {
    "kind": choice(*_EFFECTS),
    "at_s": nanoseconds(0.0, _LONGEST_S),
    "duration_s": nanoseconds(1e-9, _LONGEST_S),
    "direction": lambda plain, path: Direction(choice(*Direction)(plain, path)),
    "messages": items(text, least=1, most=100),
}


def load_schedule(path: Path) -> Schedule:
    try:
        plain = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is no YAML: {' '.join(str(error).split())}") from None
    try:
        return read_schedule(plain)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def read_schedule(plain: Any) -> Schedule:
    read = section({"faults": items(_fault, least=1, most=10_000)}, required=("faults",))
    return Schedule(read(plain, "")["faults"])


def _fault(plain: Any, path: str) -> Fault:
    if not isinstance(plain, dict) or plain.get("kind") not in _EFFECTS:
        raise ConfigError(f"{path} is {shown(plain)}; expected a kind: {', '.join(_EFFECTS)}")
    make, own, required = _EFFECTS[plain["kind"]]
    values = section({**_COMMON, **own}, required=("kind", *required))(plain, path)
    effect = make(**{_field(name): value for name, value in values.items() if name in own})
    return Fault(
        effect,
        values.get("direction", Direction.BOTH),
        values.get("messages", ()),
        values.get("at_s", 0),
        values.get("duration_s"),
    )


def _field(name: str) -> str:
    return (
        f"{name.removesuffix('_s')}_ns" if name.endswith("_s") and name != "bytes_per_s" else name
    )
