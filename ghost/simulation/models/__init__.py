"""What simulators share: sensors with their noise, and the air."""
