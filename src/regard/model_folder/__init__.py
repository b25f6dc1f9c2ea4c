"""Model folders on disk: loading, checking and writing them, and the bundled models."""
