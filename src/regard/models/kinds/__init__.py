"""The model architectures, one file each."""
