"""Sensing the surroundings: what stands in the way, and whether the sensors can be believed."""

from ghost.perception.finder import ObstacleFinder, obstacle_sensors
from ghost.perception.obstacles import OBSTACLES, Obstacles
from ghost.perception.sight import Sight

__all__ = ["OBSTACLES", "ObstacleFinder", "Obstacles", "Sight", "obstacle_sensors"]
