"""Missions and scenarios that come with Ghost: data, no code."""
