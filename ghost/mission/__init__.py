"""Missions: read, checked before take-off, flown, repeated from their logs."""

from ghost.mission.mission import Mission
from ghost.mission.outcome import Outcome, Patience, Result
from ghost.mission.read import load_mission
from ghost.mission.replay import RecordedAnswers, Rerun, rerun_mission
from ghost.mission.runner import MissionRunner
from ghost.mission.steps import OnTimeout

__all__ = [
    "Mission",
    "MissionRunner",
    "OnTimeout",
    "Outcome",
    "Patience",
    "RecordedAnswers",
    "Rerun",
    "Result",
    "load_mission",
    "rerun_mission",
]
