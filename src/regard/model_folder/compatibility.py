"""Checks whether several models can be averaged, or combined in an ensemble."""

from collections.abc import Sequence
from dataclasses import asdict

from regard.errors import FolderError
from regard.model_folder.bundled import display_path
from regard.model_folder.folder import ModelFolder


def check_compatible(folders: Sequence[ModelFolder], *, shape: bool = False) -> None:
    """Raise a FolderError unless all models have the same tokenizer and the same languages.

    If `shape` is True, they must also have the same shape.
    """
    first = folders[0]
    for other in folders[1:]:
        first_name, other_name = display_path(first.path), display_path(other.path)
        if other.tokenizer.data != first.tokenizer.data:
            raise FolderError(
                f"{first_name} and {other_name} have different tokenizers and cannot be combined; use models of "
                "one run, or fine-tuned versions of one model"
            )
        if other.languages != first.languages:
            directions = [" to ".join(name or "unknown" for name in folder.languages) for folder in (first, other)]
            raise FolderError(
                f"{first_name} translates {directions[0]}, but {other_name} translates {directions[1]}; use models of "
                "the same languages"
            )
        if shape and other.settings != first.settings:
            names = [name for name, value in asdict(first.settings).items() if value != getattr(other.settings, name)]
            raise FolderError(
                f"{first_name} and {other_name} have different shapes ({', '.join(names)}) and cannot be averaged; "
                "use models of one run, or fine-tuned versions of one model"
            )
