"""Regard: the Transformer of "Attention Is All You Need", for people who want to use it and look inside it.

    import regard
    model = regard.load("my-model")
    model.translate("I am a student.").text

The public names are found lazily: importing regard imports neither torch nor numpy.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["DecodeSettings", "TextTranslator", "Translation", "UserError", "evaluate", "load", "train"]

if TYPE_CHECKING:
    from regard.decoding.load import load
    from regard.decoding.translation import TextTranslator, Translation
    from regard.errors import UserError
    from regard.evaluation.evaluate import evaluate
    from regard.settings import DecodeSettings
    from regard.training.run import train

_HOMES = {
    "DecodeSettings": "regard.settings",
    "TextTranslator": "regard.decoding.translation",
    "Translation": "regard.decoding.translation",
    "UserError": "regard.errors",
    "evaluate": "regard.evaluation.evaluate",
    "load": "regard.decoding.load",
    "train": "regard.training.run",
}


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
