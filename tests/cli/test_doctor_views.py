"""`regard doctor --views`."""

import json

import pytest
from tests.cli.runner import call

from regard.interpret.selftest.view_checks import Check


def test_views_are_checked_on_a_planted_model(monkeypatch: pytest.MonkeyPatch) -> None:
    done = call("doctor", "--views")
    assert (done.code, done.said) == (0, "")
    *lines, blank, verdict = done.lines
    assert len(lines) > 20
    assert all(line.startswith("ok ") for line in lines)
    assert (blank, verdict) == ("", "No problems found.")
    monkeypatch.setattr(
        "regard.interpret.selftest.view_checks.check_views", lambda: [Check("a label", False, "swapped")]
    )
    assert call("doctor", "--views").lines[-1] == "There are problems, see above."
    done = call("doctor", "--views", "--json")
    assert (done.code, done.said) == (1, "error: these show wrong numbers: a label\n")
    assert json.loads(done.output) == [{"name": "a label", "passed": False, "found": "swapped"}]
