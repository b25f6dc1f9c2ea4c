"""From a model folder to a translator, on the engine's road or on torch's. The text is the same on both.

Several folders make one translator too, on torch's road: what comes next has the mean of their probabilities.
"""

from collections.abc import Sequence
from pathlib import Path

import ctranslate2

from regard.errors import SettingsError
from regard.inference.backends.ctranslate2 import CTranslate2Backend
from regard.inference.translator import Translator
from regard.interchange.ctranslate2.cache import cached_export
from regard.model_folder import bundled
from regard.model_folder.compatibility import check_compatible
from regard.model_folder.folder import ModelFolder
from regard.model_folder.loader import open_folder


def load_translator(
    folder: str | Path | None = None, *others: str | Path, fast: str | None = "float32", device: str = "cpu"
) -> Translator:
    """The translator in a model folder, or that of several together; without any, the bundled one.

    `fast` is how the engine computes: float32, or int8, int16, bfloat16 where the processor can. None takes torch's
    road, and so does any device but the processor.
    """
    return make_translator(open_folders(folder, *others), fast=fast, device=device)


def open_folders(folder: str | Path | None, *others: str | Path) -> list[ModelFolder]:
    """The folders, verified; for None, the bundled one."""
    return [open_folder(Path(path)) for path in (bundled.for_languages() if folder is None else folder, *others)]


def make_translator(folders: Sequence[ModelFolder], *, fast: str | None, device: str) -> Translator:
    """The translator of folders already open."""
    if len(folders) > 1:
        check_compatible(folders)
    if fast not in ("float32", None) and (len(folders) > 1 or device != "cpu"):
        whose = "several models together are" if len(folders) > 1 else f"on {device} a model is"
        raise SettingsError(f"{whose} computed in float32, not in {fast}; leave --fast out")
    if len(folders) == 1 and fast is not None and device == "cpu":
        (opened,) = folders
        _check(fast)
        return CTranslate2Backend(
            cached_export(opened, fast),
            opened.tokenizer,
            max_positions=opened.settings.max_positions,
            fallback=lambda: _in_torch(folders, device),
            compute_type=fast,
            alignment_head=opened.alignment,
        )
    return _in_torch(folders, device)


def _in_torch(folders: Sequence[ModelFolder], device: str) -> Translator:
    from regard.inference.backends.ensemble import Ensemble
    from regard.inference.backends.torch import TorchBackend

    models = [opened.build().to(device) for opened in folders]
    model = Ensemble(models) if len(models) > 1 else models[0]
    longest = min(opened.settings.max_positions for opened in folders)
    # Each of several models would have a head of its own, if any.
    aligning = folders[0].alignment if len(folders) == 1 else None
    return TorchBackend(model, folders[0].tokenizer, max_positions=longest, device=device, alignment_head=aligning)


def _check(fast: str) -> None:
    """Whether this processor computes so."""
    possible = sorted(ctranslate2.get_supported_compute_types("cpu") & {"float32", "int8", "int16", "bfloat16"})
    if fast not in possible:
        raise SettingsError(f"this processor does not compute in {fast}; it can in {', '.join(possible)}")
