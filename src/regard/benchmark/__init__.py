"""Measurement of the speed of training and translation on this machine."""
