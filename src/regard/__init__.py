"""Regard trains, runs and inspects Transformer models for translation, as described in "Attention Is All You Need".

    import regard
    model = regard.load()  # the bundled model, or regard.load("my-model")
    model.translate("I am a student.").text
    model.look("I am a student.")

The public names are imported when they are first used, so `import regard` imports neither torch nor numpy.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "DecodeSettings",
    "Glossary",
    "Model",
    "Translation",
    "UserError",
    "View",
    "average",
    "evaluate",
    "iter_train",
    "load",
    "score",
    "train",
]

if TYPE_CHECKING:
    from regard.api import Model, average, load, score, train
    from regard.errors import UserError
    from regard.evaluation.evaluator import evaluate
    from regard.inference.result import Translation
    from regard.interpret.report.view import View
    from regard.settings.decode import DecodeSettings
    from regard.spans.glossary import Glossary
    from regard.training.run import iter_train

_MODULES = {
    "DecodeSettings": "regard.settings.decode",
    "Glossary": "regard.spans.glossary",
    "Model": "regard.api",
    "Translation": "regard.inference.result",
    "UserError": "regard.errors",
    "View": "regard.interpret.report.view",
    "average": "regard.api",
    "evaluate": "regard.evaluation.evaluator",
    "iter_train": "regard.training.run",
    "load": "regard.api",
    "score": "regard.api",
    "train": "regard.api",
}


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)
