"""Model folders on disk: opening, checking, writing, and the models that come with Regard."""
