"""Learning: the loss, the loop, and a run that survives anything."""
