"""Plans a run before its first step: chooses the model size and number of steps, and estimates memory and time."""
