"""Robots that exist for cases alone."""

from pathlib import Path

FOLDER = Path(__file__).parent
FENCED, TILTED = "fenced", "tilted"
