"""The Transformer of a model folder, with its own type."""

from regard.model_folder.folder import ModelFolder
from regard.models.kinds.transformer import Transformer


def transformer_of(folder: ModelFolder) -> Transformer:
    model = folder.build()
    assert isinstance(model, Transformer)
    return model
