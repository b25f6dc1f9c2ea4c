"""Atomic writes, JSON files, manifests with hashes, and safe unpacking of archives."""
