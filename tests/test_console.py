"""Standard output stays open after a result was printed, and is UTF-8 with plain line ends."""

import io
import sys

import pytest

from regard.console import show_lines, standard_output


def test_results_can_be_printed_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, encoding="ascii", newline="\r\n"))
    show_lines(["é", "two"])
    show_lines(["three"])
    with standard_output() as stream:
        stream.write("four\n")
    assert output.getvalue().decode("utf-8") == "é\ntwo\nthree\nfour\n"
    sys.stdout.write("five\n")
    sys.stdout.flush()
    assert output.getvalue().endswith(b"four\nfive\r\n")
