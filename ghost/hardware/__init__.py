"""The real backend: a flight controller behind MAVLink, as the HAL sees it."""
