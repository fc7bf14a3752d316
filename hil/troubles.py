"""Scenarios in which things go wrong, drawn by lot: what a soak flies in."""

from typing import Any

from ghost.core.random import RandomSource

MOST = 3
SENSORS = ("gps", "magnetometer", "barometer", "rangefinder")
DURATION_S = 400.0


def troubled(lots: RandomSource, seed: int) -> dict[str, Any]:
    """A scenario file's content: wind, and up to three faults that come, and mostly go again."""
    events: list[dict[str, Any]] = []
    for number in range(_whole(lots, "count", MOST + 1)):
        events += _fault(lots.child(f"fault-{number}"))
    return {
        "name": "soak",
        "seed": seed,
        "duration_s": DURATION_S,
        "wind": {
            "mean_enu_mps": [
                _between(lots, "east", -4.0, 4.0),
                _between(lots, "north", -4.0, 4.0),
                0,
            ],
            "gust_mps": _between(lots, "gusts", 0.0, 2.0),
        },
        "events": sorted(events, key=lambda event: (event["at_s"], event["target"])),
    }


def _fault(lots: RandomSource) -> list[dict[str, Any]]:
    at_s = _between(lots, "at", 3.0, 60.0)
    target = SENSORS[_whole(lots, "target", len(SENSORS))]
    match _whole(lots, "kind", 5):
        case 0:
            what: dict[str, Any] = {"fault": "silent"}
        case 1:
            what = {"fault": "frozen"}
        case 2:
            what = {"fault": "noise", "values": [_between(lots, "noise", 2.0, 10.0)]}
        case 3:
            target, what = (
                "battery",
                {"fault": "charge", "values": [_between(lots, "left", 0.05, 0.5)]},
            )
            return [{"at_s": at_s, "target": target, **what}]
        case _:
            target = f"motor/{_whole(lots, 'motor', 4)}"
            what = {"fault": "strength", "values": [_between(lots, "strength", 0.85, 1.0)]}
    healed_s = round(at_s + _between(lots, "lasts", 0.5, 20.0), 3)
    return [
        {"at_s": at_s, "target": target, **what},
        {"at_s": healed_s, "target": target, "fault": "healed"},
    ]


def _between(lots: RandomSource, label: str, low: float, high: float) -> float:
    return round(low + (high - low) * lots.child(label).uniform(), 3)


def _whole(lots: RandomSource, label: str, count: int) -> int:
    return lots.child(label).integers(0, count)
