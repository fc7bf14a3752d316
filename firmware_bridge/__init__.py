"""MAVLink and nothing else: links, signing, time sync, parameters, commands, missions."""
