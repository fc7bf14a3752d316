"""Why a fault of the companion can't be had."""

from ghost.core.errors import GhostError


class NotPossibleHereError(GhostError):
    """The machine, or the user, doesn't allow the fault: a case for a skip, with this reason."""


class UnitGoneError(GhostError):
    """The unit had ended before anything could be done to it."""
