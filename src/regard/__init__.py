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
    "TextTranslator",
    "Translation",
    "UserError",
    "View",
    "average",
    "evaluate",
    "load",
    "train",
]

if TYPE_CHECKING:
    from regard.decoding.text_translator import TextTranslator
    from regard.decoding.translation import Translation
    from regard.errors import UserError
    from regard.evaluation.evaluate import evaluate
    from regard.inside.model import Model, load
    from regard.inside.view import View
    from regard.settings import DecodeSettings
    from regard.training.average import average
    from regard.training.run import train

_HOMES = {
    "DecodeSettings": "regard.settings",
    "Model": "regard.inside.model",
    "TextTranslator": "regard.decoding.text_translator",
    "Translation": "regard.decoding.translation",
    "UserError": "regard.errors",
    "View": "regard.inside.view",
    "average": "regard.training.average",
    "evaluate": "regard.evaluation.evaluate",
    "load": "regard.inside.model",
    "train": "regard.training.run",
}


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
