"""The models: neural networks that know neither text nor files."""
