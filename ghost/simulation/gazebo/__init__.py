"""Gazebo behind ArduPilot's plugin, as a simulator of Ghost's."""
