"""What a run will do, decided before its first step: size, steps, memory and time."""
