"""PX4's own simulation: PX4 flies, and Gazebo or PX4's SIH is the world (docs/gazebo-px4.md)."""
