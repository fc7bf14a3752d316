"""Ghost: drone companion software."""

__version__ = "0.1.0"
