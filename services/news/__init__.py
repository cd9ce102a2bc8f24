"""The news lane: what was published lately."""
