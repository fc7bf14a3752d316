"""Trajectories: smooth, within limits, the same bits everywhere."""

from ghost.planning.limits import Limits
from ghost.planning.path import plan_path
from ghost.planning.survey import survey_pattern
from ghost.planning.trajectory import Trajectory, TrajectoryPoint
from ghost.planning.vectors import Vector

__all__ = [
    "Limits",
    "Trajectory",
    "TrajectoryPoint",
    "Vector",
    "plan_path",
    "survey_pattern",
]
