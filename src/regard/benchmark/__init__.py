"""Speed of training and translation on this machine."""
