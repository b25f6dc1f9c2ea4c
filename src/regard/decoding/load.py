"""From a model folder to a translator, on the engine's road or on torch's. The text is the same on both."""

from pathlib import Path

import ctranslate2

from regard.decoding.engine import Engine
from regard.decoding.fast import engine_files
from regard.decoding.translation import TextTranslator
from regard.errors import SettingsError
from regard.folder import ModelFolder, open_folder


def load(folder: str | Path, *, fast: str | None = "float32", device: str = "cpu") -> TextTranslator:
    """The translator in a model folder.

    `fast` is how the engine computes: float32, or int8, int16, bfloat16 where the processor can. None takes torch's
    road, and so does any device but the processor.
    """
    return translator_of(open_folder(Path(folder)), fast=fast, device=device)


def translator_of(opened: ModelFolder, *, fast: str | None, device: str) -> TextTranslator:
    """The translator of a folder already open."""
    if fast is not None and device == "cpu":
        _check(fast)
        files = engine_files(opened, fast)
        return Engine(files, opened.tokenizer, longest=opened.settings.longest, compute_type=fast)
    from regard.decoding.translator import Translator

    return Translator(opened.build().to(device), opened.tokenizer, longest=opened.settings.longest, device=device)


def _check(fast: str) -> None:
    """Whether this processor computes so."""
    possible = sorted(ctranslate2.get_supported_compute_types("cpu") & {"float32", "int8", "int16", "bfloat16"})
    if fast not in possible:
        raise SettingsError(f"this processor does not compute in {fast}; it can in {', '.join(possible)}")
