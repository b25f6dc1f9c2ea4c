"""Opens a model folder or zip archive: every file is checked against its hash before it is read."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from regard.errors import FolderError, UserError
from regard.model_folder.bundled import available, resolve
from regard.model_folder.folder import FORMAT, FORMAT_1_NAMES, HASHED, AlignmentHead, Languages, ModelFolder
from regard.model_folder.verification import HOW_TO_FIX
from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.sections import from_dict
from regard.storage.archives import unpack
from regard.storage.atomic_files import make_folder, new_folder
from regard.storage.json_files import read_hashed_json, read_json
from regard.storage.manifest import find_damage, sha256
from regard.tokenizers.sentencepiece import SentencePieceTokenizer

_MAX_TOKENIZER_BYTES = 1 << 26  # bytes; 37,000 pieces take one hundredth of it


def open_folder(path: Path) -> ModelFolder:
    """Verify a model folder, a .zip of one, or a bundled one by its name, and read what it says of itself."""
    path = resolve(path)
    if path.is_file():
        return open_folder(_unpacked(path))
    if not path.is_dir():
        raise FolderError(
            f"{path}: no such model folder; check the name and the current folder ({Path.cwd()}); "
            f"`regard train SOURCE TARGET --out {path}` makes one; with Regard come {', '.join(available()) or 'none'}"
        )
    if not (path / "manifest.json").exists():
        unfinished = (path / "run" / "plan.json").exists()
        raise FolderError(
            f"{path}: the training of this model has not finished; give the same `regard train` command again to go on"
            if unfinished
            else f"{path}: not a model folder (it has no manifest.json)"
        )
    if problem := find_damage(path):
        raise FolderError(f"{problem}; {HOW_TO_FIX}")
    manifest = read_json(path / "manifest.json")
    for name in HASHED:
        if name not in manifest:
            raise FolderError(f"{path / 'manifest.json'} does not name {name}; {HOW_TO_FIX}")
    settings, languages = _read_settings(path / "settings.json")
    if (path / "tokenizer.model").stat().st_size > _MAX_TOKENIZER_BYTES:
        raise FolderError(f"{path / 'tokenizer.model'} is larger than any tokenizer of ours; {HOW_TO_FIX}")
    tokenizer = SentencePieceTokenizer.load(path / "tokenizer.model")
    if tokenizer.embedding_rows != settings.vocab_size:
        raise FolderError(
            f"{path / 'tokenizer.model'} has {tokenizer.embedding_rows} rows of pieces, but settings.json says "
            f"{settings.vocab_size}; use the one that was written with the model"
        )
    alignment = _read_alignment(path / "alignment.json", settings)
    return ModelFolder(path, settings, languages, tokenizer, alignment)


def _read_settings(path: Path) -> tuple[TransformerSettings, Languages]:
    """What the model is, each word of it checked."""
    try:
        facts = read_json(path)
    except ValueError as error:
        raise FolderError(f"{path}: not JSON that can be read ({error}); {HOW_TO_FIX}") from None
    if not isinstance(facts, dict):
        raise FolderError(f"{path}: not an object of settings; {HOW_TO_FIX}")
    if facts.get("format") != FORMAT:
        raise FolderError(f"{path}: format {facts.get('format')!r:.60}, but this Regard reads format {FORMAT}")
    for name, kind in (("model", dict), ("languages", list)):
        if name not in facts:
            raise FolderError(f"{path}: {name} is missing")
        if not isinstance(facts[name], kind):
            raise FolderError(f"{path}: {name} is {facts[name]!r:.60}; {HOW_TO_FIX}")
    try:
        settings = from_dict(
            TransformerSettings, {FORMAT_1_NAMES.get(name, name): value for name, value in facts["model"].items()}
        )
    except UserError as error:
        raise FolderError(f"{path}: {error}") from None
    match facts["languages"]:
        case [str() | None as source, str() | None as target]:
            return settings, (source, target)
    raise FolderError(
        f"{path}: languages is {facts['languages']!r:.60}, but there are two, each a name or null; {HOW_TO_FIX}"
    )


def _read_alignment(path: Path, settings: TransformerSettings) -> AlignmentHead | None:
    if not path.exists():
        return None
    try:
        chosen = AlignmentHead(**read_hashed_json(path))
        if chosen not in _possible_heads(settings):
            raise ValueError(f"{path} names a head that the model does not have")
    except (TypeError, ValueError) as error:
        raise FolderError(f"{error}; remove it, and find the head again: regard measure alignment") from None
    return chosen


def _possible_heads(settings: TransformerSettings) -> Iterator[AlignmentHead]:
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
        if find_damage(folder) is not None:
            with new_folder(folder) as new:
                unpack(archive, new, wanted=_is_part)
                if problem := find_damage(new):
                    inside = problem.removeprefix(f"{new}{os.sep}")
                    raise FolderError(f"{archive}: in it, {inside}; copy or download it again")
    return folder


def _is_part(name: str) -> bool:
    """Whether a file belongs to what is needed to use a model."""
    return (
        name in (*HASHED, "alignment.json", "card.md", "manifest.json")
        or re.fullmatch(r"fast/[a-z_]+\.[a-z]+", name) is not None
    )
