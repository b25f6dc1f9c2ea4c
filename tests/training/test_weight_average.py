"""The average of models is a complete model, and the average of a model with itself is that model."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import regard
from regard.errors import FolderError, RunError
from regard.model_folder.loader import open_folder
from regard.storage.json_files import read_json
from regard.storage.manifest import sha256

Make = Callable[..., Path]


@pytest.mark.parametrize("times", [2, 3])
def test_the_average_of_a_model_with_itself_is_that_model(make_model: Make, tmp_path: Path, times: int) -> None:
    folder = make_model()
    regard.average([folder] * times, out=tmp_path / "mean")
    for name in ("settings.json", "tokenizer.model", "weights.safetensors"):
        assert (tmp_path / "mean" / name).read_bytes() == (folder / name).read_bytes()
    assert read_json(tmp_path / "mean" / "manifest.json") == read_json(folder / "manifest.json")


def test_every_parameter_is_the_mean(make_model: Make, tmp_path: Path) -> None:
    folders = [make_model(seed) for seed in (1, 2, 3)]
    regard.average(folders, out=tmp_path / "mean")
    average, *parents = (load_file(folder / "weights.safetensors") for folder in (tmp_path / "mean", *folders))
    assert average.keys() == parents[0].keys()
    for name, tensor in average.items():
        torch.testing.assert_close(tensor, sum(parent[name] for parent in parents) / 3)


def test_the_average_is_a_complete_model_folder(make_model: Make, tmp_path: Path) -> None:
    folders = [make_model(seed) for seed in (1, 2)]
    out = tmp_path / "deep" / "mean"
    regard.average([str(folder) for folder in folders], out=str(out))
    assert open_folder(out).languages == ("en", "xx")
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    assert regard.load(out).translate("the cat").tokens == regard.load(out, backend="torch").translate("the cat").tokens
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before  # nothing is exported again
    card = (out / "card.md").read_text("utf-8")
    assert card.startswith("# A translator from en to xx\n")
    for folder in folders:
        assert f"- `{folder.name}` (SHA-256 of its parameters: `{sha256(folder / 'weights.safetensors')}`)\n" in card
    assert "Transformer, 1 + 1 layers, width 16, feed-forward 24, 2 heads, pre-norm, sinusoid positions" in card


def test_incompatible_models_are_refused(make_model: Make, tmp_path: Path) -> None:
    first, wide, other = make_model(), make_model(feedforward=32, heads=4), make_model(text="of another kind")
    with pytest.raises(FolderError) as refused:
        regard.average([first, first, wide], out=tmp_path / "mean")
    assert str(refused.value) == (
        f"{first} and {wide} have different shapes (heads, feedforward) and cannot be averaged; use models of one run, "
        "or fine-tuned versions of one model"
    )
    with pytest.raises(FolderError, match="have different tokenizers"):
        regard.average([first, other], out=tmp_path / "mean")
    few: Any
    for few in ([first], first, str(first)):
        with pytest.raises(RunError, match=r"^an average needs at least two model folders; in Python, give them as a "):
            regard.average(few, out=tmp_path / "mean")
    with pytest.raises(FolderError, match="no such model folder"):
        regard.average([first, tmp_path / "none"], out=tmp_path / "mean")
    assert not (tmp_path / "mean").exists()


def test_existing_files_are_not_overwritten(make_model: Make, tmp_path: Path) -> None:
    folder = make_model()
    (tmp_path / "file").write_text("")
    for out in (folder, tmp_path / "file"):
        with pytest.raises(RunError) as refused:
            regard.average([folder, folder], out=out)
        assert str(refused.value) == f"--out {out} already exists; choose another name for the model folder"
