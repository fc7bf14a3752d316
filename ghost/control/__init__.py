"""Loops from position to motors, and how to share the work among rotors."""

from ghost.control.allocation import allocate
from ghost.control.gains import Gains, derive

__all__ = ["Gains", "allocate", "derive"]
