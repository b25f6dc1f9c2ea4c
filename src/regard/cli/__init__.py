"""The commands. Each is one function call plus printing; what is heavy is imported by the command that needs it."""

from regard.cli import demo, looking, machine, training, translating
from regard.cli.group import main

__all__ = ["demo", "looking", "machine", "main", "training", "translating"]
