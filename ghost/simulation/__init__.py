"""Worlds to fly in: simulator adapters, the models they share, and the backend made of any."""
