"""From a model to text: search, backends and the translator."""
