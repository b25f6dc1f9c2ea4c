"""The planted model of the self-test as a loaded model."""

from regard.api import Model
from regard.inference.backends.torch import TorchBackend
from regard.inference.translator import Translator
from regard.interpret.selftest import planted_model as planted


def planted_model() -> Model:
    """Return the planted model, ready to translate and to be inspected."""
    model, tokenizer = planted.planted_model()
    backend = TorchBackend(model, tokenizer.generable)
    translator = Translator(backend, tokenizer, max_positions=model.settings.max_positions)
    return Model(translator, tokenizer, lambda: model, name="planted")
