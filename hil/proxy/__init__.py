"""A proxy between the unit under test and the flight controller, which spoils the link on order."""

from hil.proxy import traffic
from hil.proxy.faults import (
    Bandwidth,
    Corrupt,
    Cut,
    Delay,
    Direction,
    Duplicate,
    Effect,
    Fault,
    Inject,
    Loss,
    Reorder,
    Replay,
    Schedule,
    Side,
    Unplug,
)
from hil.proxy.journal import Counts, Entry, LaneCounts, read_journal
from hil.proxy.proxy import Handle, Proxy
from hil.proxy.schedule_file import load_schedule, read_schedule

__all__ = [
    "Bandwidth",
    "Corrupt",
    "Counts",
    "Cut",
    "Delay",
    "Direction",
    "Duplicate",
    "Effect",
    "Entry",
    "Fault",
    "Handle",
    "Inject",
    "LaneCounts",
    "Loss",
    "Proxy",
    "Reorder",
    "Replay",
    "Schedule",
    "Side",
    "Unplug",
    "load_schedule",
    "read_journal",
    "read_schedule",
    "traffic",
]
