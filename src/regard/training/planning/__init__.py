"""Decides before the first step of a run what it will do: model size, number of steps, memory and time."""
