"""Opens a model folder, or a zip archive of one. The hash of every file is checked before the file is read."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from regard.data.formats.records import LanguagePair
from regard.errors import FolderError, UserError
from regard.model_folder.bundled import available, resolve
from regard.model_folder.folder import FORMAT, FORMAT_1_NAMES, HASHED, AlignmentHead, ModelFolder
from regard.model_folder.verification import HOW_TO_FIX
from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.sections import from_dict
from regard.storage.archives import unpack
from regard.storage.atomic_files import make_folder, new_folder
from regard.storage.json_files import read_hashed_json, read_json
from regard.storage.manifest import find_damage, sha256
from regard.tokenizers.sentencepiece import SentencePieceTokenizer

_MAX_TOKENIZER_BYTES = 1 << 26  # a larger file is refused; a tokenizer with 37,000 tokens has under 1 MB


def open_folder(path: Path) -> ModelFolder:
    """Verify and open a model folder, a zip archive of one, or a bundled model given by its name."""
    path = resolve(path)
    if path.is_file():
        return open_folder(_unpack_to_cache(path))
    _check_kind(path)
    if problem := find_damage(path):
        raise FolderError(f"{problem}; {HOW_TO_FIX}")
    manifest = read_json(path / "manifest.json")
    for name in HASHED:
        if name not in manifest:
            raise FolderError(f"{path / 'manifest.json'} does not list {name}; {HOW_TO_FIX}")
    settings, languages = _read_settings(path / "settings.json")
    if (path / "tokenizer.model").stat().st_size > _MAX_TOKENIZER_BYTES:
        raise FolderError(f"{path / 'tokenizer.model'} is larger than any tokenizer of Regard; {HOW_TO_FIX}")
    tokenizer = SentencePieceTokenizer.load(path / "tokenizer.model")
    if tokenizer.embedding_rows != settings.vocab_size:
        raise FolderError(
            f"{path / 'tokenizer.model'} needs {tokenizer.embedding_rows} embedding rows, but settings.json says "
            f"{settings.vocab_size}; use the tokenizer that was saved with the model"
        )
    alignment = _read_alignment(path / "alignment.json", settings)
    return ModelFolder(path, settings, languages, tokenizer, alignment)


def _check_kind(path: Path) -> None:
    """Raise a `FolderError` unless the path is a folder that looks like the folder of a trained model."""
    if not path.is_dir():
        raise FolderError(
            f"{path}: no such model folder; check the name and the current folder ({Path.cwd()}); "
            f"`regard train SOURCE TARGET --out {path}` trains one; bundled models: {', '.join(available()) or 'none'}"
        )
    if path.parts[-3:-1] == ("run", "checkpoints"):
        raise FolderError(
            f"{path} is a checkpoint of a run; use the model folder {path.parents[2]}, or repeat the training command "
            "if the run has not finished"
        )
    if (path / "manifest.json").exists():
        return
    if (path / "run" / "plan.json").exists():
        raise FolderError(
            f"{path}: the training of this model has not finished; repeat the `regard train` command to continue"
        )
    hidden = "; it hides the bundled model of the same name: rename it, or change to another folder"
    raise FolderError(
        f"{path}: not a model folder (it has no manifest.json){hidden if str(path) in available() else ''}"
    )


def _read_settings(path: Path) -> tuple[TransformerSettings, LanguagePair]:
    """Read and check `settings.json`; return the settings of the model and its two languages."""
    try:
        contents = read_json(path)
    except ValueError as error:
        raise FolderError(f"{path}: invalid JSON ({error}); {HOW_TO_FIX}") from None
    if not isinstance(contents, dict):
        raise FolderError(f"{path}: not a JSON object; {HOW_TO_FIX}")
    if contents.get("format") != FORMAT:
        raise FolderError(f"{path}: format {contents.get('format')!r:.60}, but this Regard reads format {FORMAT}")
    for name, kind in (("model", dict), ("languages", list)):
        if name not in contents:
            raise FolderError(f"{path}: {name} is missing")
        if not isinstance(contents[name], kind):
            raise FolderError(f"{path}: {name} is {contents[name]!r:.60}; {HOW_TO_FIX}")
    try:
        settings = from_dict(
            TransformerSettings, {FORMAT_1_NAMES.get(name, name): value for name, value in contents["model"].items()}
        )
    except UserError as error:
        raise FolderError(f"{path}: {error}") from None
    match contents["languages"]:
        case [str() | None as source, str() | None as target]:
            return settings, (source, target)
    raise FolderError(
        f"{path}: languages is {contents['languages']!r:.60}, not two names, each of which may be null; {HOW_TO_FIX}"
    )


def _read_alignment(path: Path, settings: TransformerSettings) -> AlignmentHead | None:
    if not path.exists():
        return None
    try:
        head = AlignmentHead(**read_hashed_json(path))
        if head not in _possible_heads(settings):
            raise ValueError(f"{path} names a head that the model does not have")
    except (TypeError, ValueError) as error:
        raise FolderError(f"{error}; remove the file and run `regard measure alignment` again") from None
    return head


def _possible_heads(settings: TransformerSettings) -> Iterator[AlignmentHead]:
    for layer in range(1, settings.decoder_layers + 1):
        for head in range(1, settings.heads + 1):
            yield from (AlignmentHead(f"decoder.{layer}.cross.{head}", row) for row in ("written", "read"))


def _unpack_to_cache(archive: Path) -> Path:
    """Return the folder of an archive in the user's cache, and unpack the archive first if necessary."""
    if archive.suffix.lower() != ".zip":
        raise FolderError(f"{archive} is a file; a model is a folder, or a .zip archive of one")
    # The folder gets the name of the archive, because the name of the folder is also the name of the model.
    name = archive.stem if archive.stem.strip(".") else "model"
    folder = user_cache_path("regard") / "models" / sha256(archive)[:32] / name
    make_folder(folder.parent)
    with FileLock(folder.parent.with_suffix(".lock")):
        if find_damage(folder) is not None:
            with new_folder(folder) as new:
                unpack(archive, new, wanted=_is_model_file)
                if problem := find_damage(new):
                    relative = problem.removeprefix(f"{new}{os.sep}")
                    raise FolderError(f"{archive}: in the archive, {relative}; copy or download it again")
    return folder


def _is_model_file(name: str) -> bool:
    """Return whether a file in an archive belongs to the model. Other files are not unpacked."""
    return (
        name in (*HASHED, "alignment.json", "card.md", "manifest.json")
        or re.fullmatch(r"fast/[a-z_]+\.[a-z]+", name) is not None
    )
