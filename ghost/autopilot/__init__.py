"""The embedded flight controller."""

from ghost.autopilot.autopilot import Autopilot
from ghost.autopilot.config import AutopilotConfig

__all__ = ["Autopilot", "AutopilotConfig"]
