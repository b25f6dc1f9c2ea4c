"""`regard average`."""

from pathlib import Path

from tests.cli.runner import call

from regard.model_folder.loader import open_folder


def test_the_average_of_equal_models_is_that_model(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "mean"
    done = call("average", model, model, "--out", out)
    assert (done.code, done.said) == (0, f"the average of 2 models is in {out}; its card is {out / 'card.md'}\n")
    assert (out / "weights.safetensors").read_bytes() == (model / "weights.safetensors").read_bytes()
    assert open_folder(out).language_profiles == open_folder(model).language_profiles
    assert call("translate", "--model", out, "a bo") == call("translate", "--model", model, "a bo")
