"""What is shown to others names the model folder, and not its path; defaults are the same in Python and as options."""

import inspect
import json

import pytest

from regard.api import Model, load
from regard.cli.commands.measure import measure


def test_pages_and_json_do_not_contain_the_path_of_the_model(folder_of):
    folder = folder_of("pre")
    model = load(folder, backend="torch")
    view = model.look("the old cat sees a tree.", target="a red dog paints.")
    for text in (view.html(), json.dumps(view.to_dict([]))):
        assert str(folder.parent) not in text and folder.name in text


@pytest.mark.parametrize("name", ["heads", "pronouns", "probes", "alignment"])
def test_the_default_count_of_a_command_is_that_of_the_method(name):
    (option,) = (parameter for parameter in measure.commands[name].params if parameter.name == "count")
    assert option.default == inspect.signature(getattr(Model, f"measure_{name}")).parameters["count"].default
