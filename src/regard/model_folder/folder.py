"""A model on disk: one folder that needs nothing else, of plain formats that run no code when read.

`settings.json` says what it is, `weights.safetensors` and `tokenizer.model` hold it, `card.md` tells people about it,
and `manifest.json`, written last, has the hashes of the first three. A folder may come as a `.zip`. Whatever it says is
checked before it is used: hashes, settings, and the names, shapes and types of the weights before any is allocated.
Torch is imported only to build the model.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import FolderError
from regard.model_folder.verification import HOW_TO_FIX, MAX_PARAMETER_MAGNITUDE, check_parameters
from regard.settings.kinds.transformer import TransformerSettings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer

if TYPE_CHECKING:
    from regard.models.kinds.transformer import Transformer

FORMAT = 1

# Format 1 keeps the names under which its settings were first written.
FORMAT_1_NAMES = {"longest": "max_positions", "vocabulary": "vocab_size"}

HASHED = ["settings.json", "tokenizer.model", "weights.safetensors"]

Languages = tuple[str | None, str | None]


@dataclass(frozen=True)
class AlignmentHead:
    """The head that tells best which source word a target word comes from, and in which row it does."""

    head: str  # such as `decoder.3.cross.1`
    row: str  # `written`: where the word is about to be written; `read`: where it was just read

    @property
    def layer(self) -> int:
        """Of the decoder, from 1."""
        return int(self.head.split(".")[1])


@dataclass(frozen=True)
class ModelFolder:
    """A verified folder: what is needed to use the model, without its weights."""

    path: Path
    settings: TransformerSettings
    languages: Languages
    tokenizer: SentencePieceTokenizer
    alignment: AlignmentHead | None = None

    def build(self) -> "Transformer":
        """The model itself, in evaluation mode."""
        import torch
        from safetensors.torch import load_file

        from regard.models.kinds.transformer import Transformer

        path = self.path / "weights.safetensors"
        with torch.device("meta"):  # shapes without numbers
            wanted = Transformer(self.settings).state_dict()
        check_parameters(path, {name: tuple(tensor.shape) for name, tensor in wanted.items()})
        weights = {name: tensor.float() for name, tensor in load_file(path).items()}
        for name, tensor in weights.items():
            # Nothing is learnt beyond this, and within it nothing overflows. NaN is not within anything.
            if not bool((tensor.abs() <= MAX_PARAMETER_MAGNITUDE).all()):
                raise FolderError(f"{path}: {name} has numbers that no training gives; {HOW_TO_FIX}")
        model = Transformer(self.settings)
        model.load_state_dict(weights)
        return model.eval()
