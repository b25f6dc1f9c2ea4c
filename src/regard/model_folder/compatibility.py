"""Whether several models can be averaged or combined in an ensemble."""

from collections.abc import Sequence
from dataclasses import asdict

from regard.errors import FolderError
from regard.model_folder.folder import ModelFolder


def check_compatible(folders: Sequence[ModelFolder], *, shape: bool = False) -> None:
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
