"""`regard settings`."""

import json

from tests.cli.runner import Done, call

from regard.settings.reference import as_markdown


def test_settings_are_listed_with_their_defaults() -> None:
    assert call("settings") == Done(0, as_markdown().encode(), "")
    assert call("settings", "beam") == Done(0, as_markdown("beam").encode(), "")
    assert json.loads(call("settings", "decode.beam_size", "--json").output) == [
        {
            "name": "decode.beam_size",
            "default": 4,
            "type": "whole number",
            "meaning": "hypotheses kept at each step; 1 is greedy search",
        }
    ]
    assert call("settings", "beems").said == (
        "error: no setting has 'beems' in its name or meaning; `regard settings` lists all settings\n"
    )
