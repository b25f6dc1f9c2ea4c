"""From a model folder to a translator, on the engine's road or on torch's. The text is the same on both.

Several folders make one translator too, on torch's road: what comes next has the mean of their probabilities.
"""

from collections.abc import Sequence
from pathlib import Path

import ctranslate2

from regard import bundled
from regard.decoding.engine import Engine
from regard.decoding.fast import engine_files
from regard.decoding.text_translator import TextTranslator
from regard.errors import SettingsError
from regard.folder import ModelFolder, check_alike, open_folder


def load(
    folder: str | Path | None = None, *others: str | Path, fast: str | None = "float32", device: str = "cpu"
) -> TextTranslator:
    """The translator in a model folder, or that of several together; without any, the bundled one.

    `fast` is how the engine computes: float32, or int8, int16, bfloat16 where the processor can. None takes torch's
    road, and so does any device but the processor.
    """
    return translator_of(open_folders(folder, *others), fast=fast, device=device)


def open_folders(folder: str | Path | None, *others: str | Path) -> list[ModelFolder]:
    """The folders, verified; for None, the bundled one."""
    return [open_folder(Path(path)) for path in (bundled.chosen() if folder is None else folder, *others)]


def translator_of(folders: Sequence[ModelFolder], *, fast: str | None, device: str) -> TextTranslator:
    """The translator of folders already open."""
    if len(folders) > 1:
        check_alike(folders)
    if fast not in ("float32", None) and (len(folders) > 1 or device != "cpu"):
        whose = "several models together are" if len(folders) > 1 else f"on {device} a model is"
        raise SettingsError(f"{whose} computed in float32, not in {fast}; leave --fast out")
    if len(folders) == 1 and fast is not None and device == "cpu":
        (opened,) = folders
        _check(fast)
        return Engine(
            engine_files(opened, fast),
            opened.tokenizer,
            longest=opened.settings.longest,
            other_road=lambda: _in_torch(folders, device),
            compute_type=fast,
            aligning=opened.alignment,
        )
    return _in_torch(folders, device)


def _in_torch(folders: Sequence[ModelFolder], device: str) -> TextTranslator:
    from regard.decoding.ensemble import Ensemble
    from regard.decoding.translator import Translator

    models = [opened.build().to(device) for opened in folders]
    model = Ensemble(models) if len(models) > 1 else models[0]
    longest = min(opened.settings.longest for opened in folders)
    # Each of several models would have a head of its own, if any.
    aligning = folders[0].alignment if len(folders) == 1 else None
    return Translator(model, folders[0].tokenizer, longest=longest, device=device, aligning=aligning)


def _check(fast: str) -> None:
    """Whether this processor computes so."""
    possible = sorted(ctranslate2.get_supported_compute_types("cpu") & {"float32", "int8", "int16", "bfloat16"})
    if fast not in possible:
        raise SettingsError(f"this processor does not compute in {fast}; it can in {', '.join(possible)}")
