"""Translation of texts with a model: search, backends and the translator."""
