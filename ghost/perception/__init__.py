"""Sensing the surroundings: what stands in the way, and whether the sensors can be believed."""

from ghost.perception.finder import ObstacleFinder, obstacle_sensors

__all__ = ["ObstacleFinder", "obstacle_sensors"]
