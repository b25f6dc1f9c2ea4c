"""A model on disk: one self-contained folder, in file formats that cannot run code when they are read.

`settings.json` describes the model, `weights.safetensors` contains its parameters, `tokenizer.model` its tokenizer, and
`card.md` its documentation. `manifest.json` is written last and contains the hashes of the first three. A folder may
also be packed as a `.zip`. Hashes and settings are checked before they are used, and the names, shapes and types of the
parameters before memory is allocated for them. Torch is imported only to build the model.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regard.data.formats.records import LanguagePair
from regard.errors import FolderError
from regard.model_folder.verification import HOW_TO_FIX, MAX_PARAMETER_MAGNITUDE, check_parameters
from regard.settings.kinds.transformer import TransformerSettings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer

if TYPE_CHECKING:
    from regard.models.kinds.transformer import Transformer

FORMAT = 1

# Settings with a different name in files of format 1. Keys are the names in the file, values the names in the code.
FORMAT_1_NAMES = {"longest": "max_positions", "vocabulary": "vocab_size"}

HASHED = ["settings.json", "tokenizer.model", "weights.safetensors"]


@dataclass(frozen=True)
class AlignmentHead:
    """The attention head that aligns words best, and which of its queries gives the alignment of a target word."""

    head: str  # such as `decoder.3.cross.1`: head 1 of the cross-attention in decoder layer 3
    row: str  # "written": the query that predicts the word; "read": the next query, whose input is the word

    @property
    def layer(self) -> int:
        """The number of the decoder layer of the head, counted from 1."""
        return int(self.head.split(".")[1])


@dataclass(frozen=True)
class ModelFolder:
    """A verified model folder: everything needed to use the model except its parameters."""

    path: Path
    settings: TransformerSettings
    languages: LanguagePair
    tokenizer: SentencePieceTokenizer
    alignment: AlignmentHead | None = None

    def build(self) -> "Transformer":
        """Load the parameters and return the model in evaluation mode."""
        import torch
        from safetensors.torch import load_file

        from regard.models.kinds.transformer import Transformer

        path = self.path / "weights.safetensors"
        with torch.device("meta"):  # has the expected shapes, but allocates no memory and draws no random numbers
            model = Transformer(self.settings)
        check_parameters(path, {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()})
        # They are copied, because `load_file` may map them from the file, which must not change with the model.
        parameters = {name: tensor.to(torch.float32, copy=True) for name, tensor in load_file(path).items()}
        for name, tensor in parameters.items():
            # Training never produces larger values, and smaller values cause no overflow. The test also rejects NaN.
            if not bool((tensor.abs() <= MAX_PARAMETER_MAGNITUDE).all()):
                raise FolderError(f"{path}: {name} has values that training cannot produce; {HOW_TO_FIX}")
        model.load_state_dict(parameters, assign=True)
        model.positions.compute_sinusoids()
        return model.eval()
