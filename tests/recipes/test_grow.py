"""A grown model translates as before, and its new parameters can be trained."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import torch

from regard.inference.translator_loader import load_translator
from regard.model_folder import bundled
from regard.model_folder.loader import open_folder

TEXTS = ["The cat sat on the mat.", "The animal didn't cross the street because it was too tired."]


def test_a_grown_model_translates_as_before(script: Callable[[str], ModuleType], tmp_path: Path) -> None:
    script("grow").grow("en-fr", tmp_path / "grown", encoder_layers=8, placeholders=8)
    old, new = open_folder(bundled.HERE / "en-fr"), open_folder(tmp_path / "grown")
    assert new.settings.anatomy().stacks[0].outputs[-1] == "encoder.8" and len(new.tokenizer.placeholders) == 8
    translated = [texts(folder.path) for folder in (old, new)]
    assert translated[0] == translated[1]
    added = new.build().get_parameter("encoder.2.self.query.weight")
    assert not torch.equal(added, torch.zeros_like(added)), "a layer of zeros would never learn"


def texts(folder: Path) -> list[str]:
    return [translation.text for translation in load_translator(folder, backend="torch").translate(TEXTS)]
