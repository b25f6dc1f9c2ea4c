"""A model on disk: one folder that needs nothing else, of plain formats that run no code when read.

`settings.json` says what it is, `weights.safetensors` and `tokenizer.model` hold it, `card.md` tells people about it,
and `manifest.json`, written last, has the hashes of the first three. A folder may come as a `.zip`. Whatever it says is
checked before it is used: hashes, settings, and the names, shapes and types of the weights before any is allocated.
Torch is imported only to build the model.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock
from platformdirs import user_cache_path

from regard.archives import unpack
from regard.bundled import named, names
from regard.data.tokenizer import Tokenizer
from regard.errors import FolderError, UserError
from regard.files import (
    damage,
    make_folder,
    new_folder,
    read_json,
    read_sealed,
    sha256,
    write_atomically,
    write_json,
    write_manifest,
    write_sealed,
)
from regard.settings import ModelSettings, from_dict

if TYPE_CHECKING:
    from torch import Tensor

    from regard.model.transformer import Transformer

FORMAT = 1
HASHED = ["settings.json", "tokenizer.model", "weights.safetensors"]
Languages = tuple[str | None, str | None]
_MEND = "restore the file from a copy or train the model again"
_TYPES = ("F32", "F16", "BF16")
_LARGEST_WEIGHT = 1e6
_LARGEST_TOKENIZER = 1 << 26  # bytes; 37,000 pieces take one hundredth of it


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
    settings: ModelSettings
    languages: Languages
    tokenizer: Tokenizer
    alignment: AlignmentHead | None = None

    def build(self) -> "Transformer":
        """The model itself, in evaluation mode."""
        import torch
        from safetensors.torch import load_file

        from regard.model.transformer import Transformer

        path = self.path / "weights.safetensors"
        with torch.device("meta"):  # shapes without numbers
            wanted = Transformer(self.settings).state_dict()
        _check_weights(path, {name: tuple(tensor.shape) for name, tensor in wanted.items()})
        weights = {name: tensor.float() for name, tensor in load_file(path).items()}
        for name, tensor in weights.items():
            # Nothing is learnt beyond this, and within it nothing overflows. NaN is not within anything.
            if not bool((tensor.abs() <= _LARGEST_WEIGHT).all()):
                raise FolderError(f"{path}: {name} has numbers that no training gives; {_MEND}")
        model = Transformer(self.settings)
        model.load_state_dict(weights)
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
    }
    (path / "manifest.json").unlink(missing_ok=True)
    write_json(path / "settings.json", facts)
    write_atomically(path / "tokenizer.model", tokenizer.data)
    write_atomically(path / "weights.safetensors", save(weights))
    write_atomically(path / "card.md", card)
    write_manifest(path, HASHED)


def store_alignment(path: Path, chosen: AlignmentHead) -> None:
    """Write into a whole folder which head aligns; a file of its own, so that the others stay as they are hashed."""
    write_sealed(path / "alignment.json", asdict(chosen))


def open_folder(path: Path) -> ModelFolder:
    """Verify a model folder, a .zip of one, or a bundled one by its name, and read what it says of itself."""
    path = named(path)
    if path.is_file():
        return open_folder(_unpacked(path))
    if not path.is_dir():
        raise FolderError(
            f"{path}: no such model folder; check the name and the current folder ({Path.cwd()}); "
            f"`regard train SOURCE TARGET --out {path}` makes one; with Regard come {', '.join(names()) or 'none'}"
        )
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
    settings, languages = _read_settings(path / "settings.json")
    if (path / "tokenizer.model").stat().st_size > _LARGEST_TOKENIZER:
        raise FolderError(f"{path / 'tokenizer.model'} is larger than any tokenizer of ours; {_MEND}")
    tokenizer = Tokenizer.load(path / "tokenizer.model")
    if tokenizer.rows != settings.vocabulary:
        raise FolderError(
            f"{path / 'tokenizer.model'} has {tokenizer.rows} rows of pieces, but settings.json says "
            f"{settings.vocabulary}; use the one that was written with the model"
        )
    alignment = _read_alignment(path / "alignment.json", settings)
    return ModelFolder(path, settings, languages, tokenizer, alignment)


def _read_settings(path: Path) -> tuple[ModelSettings, Languages]:
    """What the model is, each word of it checked."""
    try:
        facts = read_json(path)
    except ValueError as error:
        raise FolderError(f"{path}: not JSON that can be read ({error}); {_MEND}") from None
    if not isinstance(facts, dict):
        raise FolderError(f"{path}: not an object of settings; {_MEND}")
    if facts.get("format") != FORMAT:
        raise FolderError(f"{path}: format {facts.get('format')!r:.60}, but this Regard reads format {FORMAT}")
    for name, kind in (("model", dict), ("languages", list)):
        if name not in facts:
            raise FolderError(f"{path}: {name} is missing")
        if not isinstance(facts[name], kind):
            raise FolderError(f"{path}: {name} is {facts[name]!r:.60}; {_MEND}")
    try:
        settings = from_dict(ModelSettings, facts["model"])
    except UserError as error:
        raise FolderError(f"{path}: {error}") from None
    match facts["languages"]:
        case [str() | None as source, str() | None as target]:
            return settings, (source, target)
    raise FolderError(
        f"{path}: languages is {facts['languages']!r:.60}, but there are two, each a name or null; {_MEND}"
    )


def _read_alignment(path: Path, settings: ModelSettings) -> AlignmentHead | None:
    if not path.exists():
        return None
    try:
        chosen = AlignmentHead(**read_sealed(path))
        if chosen not in _possible_heads(settings):
            raise ValueError(f"{path} names a head that the model does not have")
    except (TypeError, ValueError) as error:
        raise FolderError(f"{error}; remove it, and find the head again: regard measure alignment") from None
    return chosen


def _possible_heads(settings: ModelSettings) -> Iterator[AlignmentHead]:
    for layer in range(1, settings.decoder_layers + 1):
        for head in range(1, settings.heads + 1):
            yield from (AlignmentHead(f"decoder.{layer}.cross.{head}", row) for row in ("written", "read"))


def _unpacked(archive: Path) -> Path:
    """The folder in an archive, in the user's cache, where it is verified once more each time it is opened."""
    if archive.suffix.lower() != ".zip":
        raise FolderError(f"{archive} is a file, and a model is a folder, or a .zip of one")
    # The name of the archive stays the name of the model.
    name = archive.stem if archive.stem.strip(".") else "model"
    folder = user_cache_path("regard") / "models" / sha256(archive)[:32] / name
    make_folder(folder.parent)
    with FileLock(folder.parent.with_suffix(".lock")):
        if damage(folder) is not None:
            with new_folder(folder) as new:
                unpack(archive, new, wanted=_is_part)
                if problem := damage(new):
                    inside = problem.removeprefix(f"{new}{os.sep}")
                    raise FolderError(f"{archive}: in it, {inside}; copy or download it again")
    return folder


def _is_part(name: str) -> bool:
    """Whether a file belongs to what is needed to use a model."""
    return (
        name in (*HASHED, "alignment.json", "card.md", "manifest.json")
        or re.fullmatch(r"fast/[a-z_]+\.[a-z]+", name) is not None
    )


def check_alike(folders: Sequence[ModelFolder], *, shape: bool = False) -> None:
    """Whether models write the same pieces of the same languages; with `shape`, whether their weights match too."""
    first = folders[0]
    for other in folders[1:]:
        if other.tokenizer.data != first.tokenizer.data:
            raise FolderError(
                f"{first.path} and {other.path} have different tokenizers, so their pieces cannot be compared; take "
                "models of one run, or fine-tunes of one model"
            )
        if other.languages != first.languages:
            ways = [" to ".join(side or "unknown" for side in one.languages) for one in (first, other)]
            raise FolderError(
                f"{first.path} translates {ways[0]}, but {other.path} {ways[1]}; take models of the same languages"
            )
        if shape and other.settings != first.settings:
            names = [name for name, value in asdict(first.settings).items() if value != getattr(other.settings, name)]
            raise FolderError(
                f"{first.path} and {other.path} have different shapes ({', '.join(names)}), so their weights do not "
                "match; take models of one run, or fine-tunes of one model"
            )


def _check_weights(path: Path, wanted: dict[str, tuple[int, ...]]) -> None:
    """All differences at once, from the head of the file: names that are missing or extra, shapes, types."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (no dictionary)
            found = {name: (tuple(part.get_shape()), part.get_dtype()) for name, part in slices.items()}
    except SafetensorError as error:
        raise FolderError(f"{path}: not safetensors ({error}); {_MEND}") from None
    problems = [f"{name} is missing" for name in wanted.keys() - found.keys()]
    problems += [f"{name} is not part of the model" for name in found.keys() - wanted.keys()]
    for name in wanted.keys() & found.keys():
        shape, kind = found[name]
        if shape != wanted[name]:
            problems.append(f"{name} is {shape} instead of {wanted[name]}")
        if kind not in _TYPES:
            problems.append(f"{name} is of type {kind} instead of {', '.join(_TYPES)}")
    if problems:
        raise FolderError(f"{path} does not fit settings.json: {'; '.join(sorted(problems))}")
