"""JSBSim: its equations of motion, its round and turning Earth, its gear: docs/jsbsim.md."""
