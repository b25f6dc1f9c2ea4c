"""Regard: the Transformer of "Attention Is All You Need", for people who want to use it and look inside it.

    import regard
    model = regard.load()  # the bundled one, or regard.load("my-model")
    model.translate("I am a student.").text
    model.look("I am a student.")

The public names are found lazily: importing regard imports neither torch nor numpy.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "DecodeSettings",
    "Model",
    "Translation",
    "Translator",
    "UserError",
    "View",
    "average",
    "evaluate",
    "load",
    "train",
]

if TYPE_CHECKING:
    from regard.api import Model, load
    from regard.errors import UserError
    from regard.evaluation.evaluator import evaluate
    from regard.inference.result import Translation
    from regard.inference.translator import Translator
    from regard.interpret.report.view import View
    from regard.settings.decode import DecodeSettings
    from regard.training.run import train
    from regard.training.weight_average import average

_HOMES = {
    "DecodeSettings": "regard.settings.decode",
    "Model": "regard.api",
    "Translation": "regard.inference.result",
    "Translator": "regard.inference.translator",
    "UserError": "regard.errors",
    "View": "regard.interpret.report.view",
    "average": "regard.training.weight_average",
    "evaluate": "regard.evaluation.evaluator",
    "load": "regard.api",
    "train": "regard.training.run",
}


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
