"""A model on disk: one folder that needs nothing else, of plain formats that run no code when read.

`settings.json` says what it is, `weights.safetensors` and `tokenizer.model` hold it, `card.md` tells people about it,
and `manifest.json`, written last, has the hashes of the first three. Torch is imported only to build the model.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.data.tokenizer import Tokenizer
from regard.errors import FolderError, UserError
from regard.files import damage, make_folder, read_json, write_atomically, write_json, write_manifest
from regard.settings import ModelSettings, from_dict

if TYPE_CHECKING:
    from torch import Tensor

    from regard.model.transformer import Transformer

FORMAT = 1
HASHED = ["settings.json", "tokenizer.model", "weights.safetensors"]
Languages = tuple[str | None, str | None]
_MEND = "restore the file from a copy or train the model again"


@dataclass(frozen=True)
class AlignmentHead:
    """The head that tells best which source word a target word comes from, and in which row it does."""

    head: str  # such as `decoder.3.cross.1`
    row: str  # `written`: where the word is about to be written; `read`: where it was just read


@dataclass(frozen=True)
class ModelFolder:
    """A verified folder: what is needed to use the model, without its weights."""

    path: Path
    settings: ModelSettings
    languages: Languages
    tokenizer: Tokenizer
    alignment: AlignmentHead | None = None

    def build(self) -> "Transformer":
        """The model itself, in evaluation mode."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        from regard.model.transformer import Transformer

        model = Transformer(self.settings)
        path = self.path / "weights.safetensors"
        try:
            weights = load_file(path)
        except SafetensorError as error:
            raise FolderError(f"{path}: not safetensors ({error}); {_MEND}") from None
        _check_weights(path, weights, model.state_dict())
        model.load_state_dict({name: tensor.float() for name, tensor in weights.items()})
        return model.eval()


def save_folder(
    path: Path,
    *,
    settings: ModelSettings,
    weights: dict[str, "Tensor"],
    tokenizer: Tokenizer,
    languages: Languages,
    card: str,
) -> None:
    """Write a model folder, each file whole or not at all, the manifest last."""
    from safetensors.torch import save

    make_folder(path)
    facts = {
        "format": FORMAT,
        "languages": list(languages),
        "model": asdict(settings),
        "tokenizer": {"pieces": tokenizer.size},
        "alignment_head": None,
    }
    (path / "manifest.json").unlink(missing_ok=True)
    write_json(path / "settings.json", facts)
    write_atomically(path / "tokenizer.model", tokenizer.data)
    write_atomically(path / "weights.safetensors", save(weights))
    write_atomically(path / "card.md", card)
    write_manifest(path, HASHED)


def store_alignment(path: Path, chosen: AlignmentHead) -> None:
    """Write into a whole folder which head aligns; what was made from the folder before is stale then."""
    facts = read_json(path / "settings.json")
    if facts.get("alignment_head") == asdict(chosen):
        return
    write_json(path / "settings.json", {**facts, "alignment_head": asdict(chosen)})
    write_manifest(path, HASHED)


def open_folder(path: Path) -> ModelFolder:
    """Verify a model folder and read what it says of itself."""
    if path.is_file():
        raise FolderError(f"{path} is a file, and a model is a folder; unpack it first if it is an archive")
    if not path.is_dir():
        raise FolderError(f"{path}: no such model folder; `regard train SOURCE TARGET --out {path}` makes one")
    if not (path / "manifest.json").exists():
        unfinished = (path / "run" / "plan.json").exists()
        raise FolderError(
            f"{path}: the training of this model has not finished; give the same `regard train` command again to go on"
            if unfinished
            else f"{path}: not a model folder (it has no manifest.json)"
        )
    if problem := damage(path):
        raise FolderError(f"{problem}; {_MEND}")
    manifest = read_json(path / "manifest.json")
    for name in HASHED:
        if name not in manifest:
            raise FolderError(f"{path / 'manifest.json'} does not name {name}; {_MEND}")
    facts = read_json(path / "settings.json")
    if facts.get("format") != FORMAT:
        raise FolderError(
            f"{path / 'settings.json'}: format {facts.get('format')!r}, but this Regard reads format {FORMAT}"
        )
    try:
        settings = from_dict(ModelSettings, facts["model"])
        source, target = facts["languages"]
    except KeyError as error:
        raise FolderError(f"{path / 'settings.json'}: {error.args[0]} is missing") from None
    except UserError as error:
        raise FolderError(f"{path / 'settings.json'}: {error}") from None
    alignment = _alignment(path / "settings.json", facts.get("alignment_head"), settings)
    tokenizer = Tokenizer.load(path / "tokenizer.model")
    if tokenizer.rows != settings.vocabulary:
        raise FolderError(
            f"{path / 'tokenizer.model'} has {tokenizer.rows} rows of pieces, but settings.json says "
            f"{settings.vocabulary}; use the one that was written with the model"
        )
    return ModelFolder(path, settings, (source, target), tokenizer, alignment)


def _alignment(path: Path, found: Any, settings: ModelSettings) -> AlignmentHead | None:
    layers, heads = range(1, settings.decoder_layers + 1), range(1, settings.heads + 1)
    known = {f"decoder.{layer}.cross.{head}" for layer in layers for head in heads}
    match found:
        case None:
            return None
        case {"head": str(head), "row": "written" | "read" as row} if head in known:
            return AlignmentHead(head, row)
    raise FolderError(f"{path}: alignment_head names no head of this model: {found!r}; {_MEND}")


def _check_weights(path: Path, found: dict[str, "Tensor"], wanted: dict[str, Any]) -> None:
    """All differences at once: names that are missing or extra, and shapes."""
    problems = [f"{name} is missing" for name in wanted.keys() - found.keys()]
    problems += [f"{name} is not part of the model" for name in found.keys() - wanted.keys()]
    problems += [
        f"{name} is {tuple(found[name].shape)} instead of {tuple(wanted[name].shape)}"
        for name in wanted.keys() & found.keys()
        if found[name].shape != wanted[name].shape
    ]
    if problems:
        raise FolderError(f"{path} does not fit settings.json: {'; '.join(sorted(problems))}")
