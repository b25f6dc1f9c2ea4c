"""The commands. Each is one function call plus printing; what is heavy is imported by the command that needs it."""

from regard.cli.commands import bench, check, demo, doctor, evaluate, look, measure, settings, train, translate
from regard.cli.main import main

__all__ = [
    "bench", "check", "demo", "doctor", "evaluate", "look", "main", "measure", "settings", "train", "translate",
]  # fmt: skip
