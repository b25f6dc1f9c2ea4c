"""The corpus and model of the command-line tests."""

from tests.cli.conftest import _fixed_step_time, folder, model, trained

__all__ = ["_fixed_step_time", "folder", "model", "trained"]
