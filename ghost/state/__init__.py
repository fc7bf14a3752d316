"""The newest that is known of the vehicle."""

from ghost.state.tracker import VehicleTracker

__all__ = ["VehicleTracker"]
