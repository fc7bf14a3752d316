"""Ghost's own simulator: no process, no port, deterministic, and as fast as the machine allows."""
