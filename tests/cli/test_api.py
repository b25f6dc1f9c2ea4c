"""The Python interface gives what the command line gives."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.runner import call, write

import regard


def test_python_and_the_command_line_give_the_same_text(model: Path) -> None:
    translator = regard.load(model)
    assert translator.translate("a bo cat").text == call("translate", "--model", model, "a bo cat").lines[0]
    assert regard.load(str(model)).translate(["a", ""])[1].text == ""
    with pytest.raises(regard.UserError, match="no such model folder"):
        regard.load(model / "none")


def test_one_path_needs_no_list(model: Path, tmp_path: Path) -> None:
    tsv, loaded = write(tmp_path / "test.tsv", ["a bo\tbo a"]), regard.load(model)
    for one in (tsv, str(tsv)):
        assert regard.score(loaded, one) == regard.score(loaded, [tsv])
        assert regard.evaluate(loaded, one).scores == regard.evaluate(loaded, [tsv]).scores
        with pytest.raises(regard.UserError, match=r"none\.tsv: no such file"):
            regard.train(one, out=tmp_path / "model", valid=str(tmp_path / "none.tsv"))


def test_a_name_in_place_of_a_model_is_refused(model: Path) -> None:
    loaded, name = regard.load(model), str(model)
    calls: list[Callable[[Any], object]] = [
        lambda given: regard.evaluate(given, "test.tsv"),
        lambda given: regard.evaluate(loaded, "test.tsv", against=given),
        lambda given: regard.score(given, "test.tsv"),
    ]
    for run in calls:
        with pytest.raises(regard.UserError) as refused:
            run(name)
        assert str(refused.value) == f"{name} is a name, but a loaded model is needed: regard.load({name!r})"


def test_a_device_that_is_not_available_is_refused(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(regard.UserError) as refused:
        regard.load(model, device="cuda")
    assert str(refused.value) == (
        "device=cuda, but torch finds no CUDA GPU on this machine; leave the setting at cpu, or install torch with "
        "CUDA support"
    )
    with pytest.raises(regard.UserError, match=r"^device is cpu, cuda or mps, not 'gpu'$"):
        regard.load(model, device="gpu")


def test_the_repr_of_a_model_has_its_name_and_languages(model: Path) -> None:
    assert repr(regard.load(model)) == f"Model({str(model)!r}, languages=('en', 'fr'))"


def test_every_public_name_can_be_imported() -> None:
    for name in regard.__all__:
        assert getattr(regard, name) is not None
    with pytest.raises(AttributeError, match="module 'regard' has no attribute 'nothing'"):
        regard.nothing  # noqa: B018
