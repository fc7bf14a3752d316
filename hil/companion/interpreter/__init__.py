"""Put on the unit's PYTHONPATH by hil.companion.inside, never imported by the rig."""
