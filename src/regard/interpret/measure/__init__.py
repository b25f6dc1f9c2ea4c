"""Many sentences: what heads and layers do."""
