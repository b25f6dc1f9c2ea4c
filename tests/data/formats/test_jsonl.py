"""JSON Lines: two texts per line, or an invalid record that says what is wrong."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.formats.jsonl import read_jsonl
from regard.data.formats.lines import Lines
from regard.data.formats.records import InvalidRecord, Pair, Record

Write = Callable[[str, bytes], Path]


def read(path: Path) -> list[Record]:
    return list(read_jsonl(Lines(path)))


def test_pairs_are_read(write: Write) -> None:
    data = b'{"source": "a\\u00e9", "target": "b", "score": 1}\n{"target": "", "source": "\\u2028"}\n'
    assert read(write("a.jsonl", data)) == [Pair("aé", "b", 1), Pair("\u2028", "", 2)]


@given(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])))
def test_every_text_is_read_back_unchanged(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "a.jsonl"
    path.write_text(json.dumps({"source": text, "target": text}), "utf-8")
    assert read(path) == [Pair(text, text, 1)]


def test_a_line_break_inside_a_text_becomes_a_space(write: Write) -> None:
    path = write("a.jsonl", rb'{"source": "a \n b\n\nc\n", "target": "d\r\ne"}')
    assert read(path) == [Pair("a b c", "d e", 1)]


EXPECTED = '{"source": "…", "target": "…"}'


@pytest.mark.parametrize(
    ("line", "reason", "message"),
    [
        ("", "not JSON", f"this is not JSON (Expecting value); write one object per line: {EXPECTED}"),
        ("{", "not JSON", "this is not JSON (Expecting property name enclosed in double quotes); write one object per "
         f"line: {EXPECTED}"),
        ("[" * 100_000, "not JSON", "this is not JSON (nested too deeply, or a number too long); write one object per "
         f"line: {EXPECTED}"),
        ("1" * 5000, "not JSON", "this is not JSON (nested too deeply, or a number too long); write one object per "
         f"line: {EXPECTED}"),
        ('{"en": "a", "fr": "b"}', "no source and target", f"expected an object with two texts, {EXPECTED}, found the "
         "keys 'en', 'fr'; give every line both keys"),
        ('{"source": "a", "target": null}', "no source and target", f"expected an object with two texts, {EXPECTED}, "
         'but the value of "target" is null; write a text'),
        ('{"source": ["a"], "target": ["b"], "alignment": []}', "no source and target", "expected an object with two "
         f'texts, {EXPECTED}, but the value of "source" is a list; these are the annotations of regard synthetic: use '
         "the TSV file of the same name"),
        ('{"a": 1, "b": 2, "c": 3, "d": 4, "a very very long key": 5, "e": 6}', "no source and target",
         f"expected an object with two texts, {EXPECTED}, found the keys 'a', 'b', 'c', 'd', 'a very very long key' "
         "and 1 more; give every line both keys"),
        ('{"source": "a", "the long name of a key": 1}', "no source and target", f"expected an object with two texts, "
         f"{EXPECTED}, found the keys 'source', 'the long name of a k…'; give every line both keys"),
        ('["a", "b"]', "no source and target", f"expected an object with two texts, {EXPECTED}, found a list; give "
         "every line both keys"),
        (r'{"source": "a\ud800", "target": "b"}', "half a character", "U+D800 is half of a surrogate pair, not a "
         r"character; write the complete character or remove the half; the text is 'a\ud800'"),
    ],
)  # fmt: skip
def test_a_line_that_is_not_a_pair_is_an_invalid_record(write: Write, line: str, reason: str, message: str) -> None:
    path = write("a.jsonl", line.encode() + b'\n{"source": "a", "target": "b"}\n')
    assert read(path) == [InvalidRecord(path, 1, reason, f"{path}:1: {message}"), Pair("a", "b", 2)]


def test_a_line_that_is_not_utf8_is_an_invalid_record(write: Write) -> None:
    (record,) = read(write("a.jsonl", b'{"source": "\xff"}'))
    assert isinstance(record, InvalidRecord)
    assert record.reason == "not UTF-8"
