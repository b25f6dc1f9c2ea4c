"""The Python interface gives what the command line gives."""

from pathlib import Path

import pytest
from tests.cli.runner import call

import regard


def test_python_and_the_command_line_give_the_same_text(model: Path) -> None:
    translator = regard.load(model)
    assert translator.translate("a bo cat").text == call("translate", "--model", model, "a bo cat").lines[0]
    assert regard.load(str(model)).translate(["a", ""])[1].text == ""
    with pytest.raises(regard.UserError, match="no such model folder"):
        regard.load(model / "none")


def test_every_public_name_can_be_imported() -> None:
    for name in regard.__all__:
        assert getattr(regard, name) is not None
    with pytest.raises(AttributeError, match="module 'regard' has no attribute 'nothing'"):
        regard.nothing  # noqa: B018
