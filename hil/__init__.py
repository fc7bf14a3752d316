"""The hardware-in-the-loop rig: targets, fault injection, suites, evidence."""
