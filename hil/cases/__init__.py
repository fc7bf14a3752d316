"""The safety cases, by what they try. Importing this knows them all."""

from hil.cases import (
    airframe,
    arming,
    authority,
    battery,
    commands,
    companion,
    envelope,
    failsafe,
    links,
    sensors,
    signing,
    startup,
)

__all__ = [
    "airframe",
    "arming",
    "authority",
    "battery",
    "commands",
    "companion",
    "envelope",
    "failsafe",
    "links",
    "sensors",
    "signing",
    "startup",
]
