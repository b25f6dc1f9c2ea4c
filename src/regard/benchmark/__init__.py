"""Measurement of the speed of training, translation and serving on this machine."""
