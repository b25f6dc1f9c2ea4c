"""Files that are written whole or not at all, their hashes, and archives."""
