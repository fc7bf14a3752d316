"""What a case asks of the target that hosts it, and a target says that it has."""

from enum import StrEnum


class Need(StrEnum):
    FLIGHT = "a vehicle that may be armed and flown"
    TRUTH = "a simulator that knows where the vehicle is"
    FAULTS = "faults in the vehicle"
    WIND = "wind to order"
    REBOOT = "a flight controller that can be rebooted"
    SIGNING = "a flight controller that can be given a signing key"
    GEOFENCE = "a vehicle whose robot has a fence"
    SECOND = "room for a second flight controller"
    PROXY = "a link that a proxy can stand in"
