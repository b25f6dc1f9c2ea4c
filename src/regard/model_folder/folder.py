"""A model on disk: one self-contained folder, in file formats that cannot run code when they are read.

`settings.json` describes the model, `weights.safetensors` contains its parameters, `tokenizer.model` its tokenizer, and
`card.md` its documentation. `language_profiles.json`, which is optional, shows which language a text is in.
`manifest.json` is written last and contains the hashes of all of them except the card. `ctranslate2/`
has the model in the format of CTranslate2, and `run/` what training needs to continue; both may be deleted. A folder
may also be packed as a `.zip`. Hashes and settings are checked before they are used, and the names, shapes and types of
the parameters before memory is allocated for them. Torch is imported only to build the model.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.data.formats.records import LanguagePair
from regard.errors import FolderError
from regard.language_id import LanguageProfile
from regard.model_folder.verification import HOW_TO_FIX, MAX_PARAMETER_MAGNITUDE, check_parameters
from regard.settings.decode import DecodeSettings
from regard.settings.model import ModelSettings
from regard.storage.json_files import read_json
from regard.tokenizers.sentencepiece import SentencePieceTokenizer

if TYPE_CHECKING:
    from regard.models.interface import SequenceModel

FORMAT = 2

DEFAULT_DECODE = DecodeSettings()

UNCALIBRATED = 1.0  # the calibration temperature that changes nothing

TOKENIZER_FILE = "tokenizer.model"

HASHED = ["settings.json", TOKENIZER_FILE, "weights.safetensors"]


@dataclass(frozen=True)
class AlignmentHead:
    """The attention head that aligns words best, and which of its queries gives the alignment of a target word."""

    head: str  # such as `decoder.3.cross.1`: head 1 of the cross-attention in decoder layer 3
    row: str  # "written": the query that predicts the word; "read": the next query, whose input is the word


@dataclass(frozen=True)
class ModelFolder:
    """A verified model folder: everything needed to use the model except its parameters."""

    path: Path
    settings: ModelSettings
    languages: LanguagePair
    tokenizer: SentencePieceTokenizer
    decode: DecodeSettings = DEFAULT_DECODE  # how the model translates, unless a call says otherwise
    alignment: AlignmentHead | None = None
    calibration_temperature: float = UNCALIBRATED  # for the probabilities that are reported; never used in search
    language_profiles: Mapping[str, LanguageProfile] = field(default_factory=dict)  # by language; may be empty

    @property
    def weights_sha256(self) -> str:
        """The SHA-256 of the parameters, which identifies the model whatever else is stored in its folder."""
        return str(read_json(self.path / "manifest.json")["weights.safetensors"]["sha256"])

    def build(self) -> "SequenceModel":
        """Load the parameters and return the model in evaluation mode."""
        import torch
        from safetensors.torch import load_file

        from regard.models.build import build_with_parameters, parameter_shapes

        path = self.path / "weights.safetensors"
        check_parameters(path, parameter_shapes(self.settings))
        # They are copied, because `load_file` may map them from the file, which must not change with the model.
        parameters = {name: tensor.to(torch.float32, copy=True) for name, tensor in load_file(path).items()}
        for name, tensor in parameters.items():
            # Training never produces larger values, and smaller values cause no overflow. The test also rejects NaN.
            if not bool((tensor.abs() <= MAX_PARAMETER_MAGNITUDE).all()):
                raise FolderError(f"{path}: {name} has values that training cannot produce; {HOW_TO_FIX}")
        return build_with_parameters(self.settings, parameters)


def describe_folder(
    *,
    kind: Any,
    directions: list[Any],
    model: dict[str, Any],
    alignment_head: dict[str, Any] | None,
    decode: dict[str, Any] | None = None,
    calibration_temperature: float = UNCALIBRATED,
) -> dict[str, Any]:
    """Return the content of a `settings.json` of the current format."""
    return {
        "format": FORMAT,
        "kind": kind,
        "task": "translation",
        "directions": directions,
        "source": "text",
        "model": model,
        "tokenizer": {"source": TOKENIZER_FILE, "target": TOKENIZER_FILE},
        "decode": decode or {},
        "alignment_head": alignment_head,
        **({} if calibration_temperature == UNCALIBRATED else {"calibration_temperature": calibration_temperature}),
    }
