"""`regard bench`: one module per command."""
