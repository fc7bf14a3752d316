"""Time, randomness, frames, errors and channel names: what everything else stands on."""

from ghost.core.channels import Channel, ChannelName
from ghost.core.clock import Clock, SimClock, SystemClock, Timer
from ghost.core.errors import GhostError
from ghost.core.frames import Geodetic, LocalFrame
from ghost.core.random import RandomSource

__all__ = [
    "Channel",
    "ChannelName",
    "Clock",
    "Geodetic",
    "GhostError",
    "LocalFrame",
    "RandomSource",
    "SimClock",
    "SystemClock",
    "Timer",
]
