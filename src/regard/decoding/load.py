"""From a model folder to a translator."""

from pathlib import Path

from regard.decoding.translator import Translator
from regard.folder import open_folder


def load(folder: str | Path, device: str = "cpu") -> Translator:
    """The translator in a model folder."""
    opened = open_folder(Path(folder))
    return Translator(opened.build().to(device), opened.tokenizer, longest=opened.settings.longest, device=device)
