"""Standard input: kept whole, read once."""

import io
from pathlib import Path

import pytest

from regard.data.pairs import Corpus, corpora
from regard.data.standard_input import keep_stream, reads_standard_input
from regard.errors import DataError


def test_a_dash_is_standard_input(tmp_path: Path) -> None:
    assert reads_standard_input([Path("a.tsv"), Path("-=0.5")])
    assert not reads_standard_input([Path("a-.tsv")])
    keep_stream(io.BytesIO(b"a\tb\n"), tmp_path / "kept.tsv")
    assert (tmp_path / "kept.tsv").read_bytes() == b"a\tb\n"
    kept = tmp_path / "kept.tsv"
    assert corpora([Path("-=0.5")], standard_input=kept) == [Corpus((kept,), 0.5)]


def test_it_comes_only_once() -> None:
    with pytest.raises(DataError) as error:
        reads_standard_input([Path("-"), Path("-=2")])
    assert str(error.value) == "standard input (-) can be read only once; give it once"


def test_a_terminal_has_no_pairs(tmp_path: Path) -> None:
    class Terminal(io.BytesIO):
        def isatty(self) -> bool:
            return True

    with pytest.raises(DataError) as error:
        keep_stream(Terminal(), tmp_path / "kept.tsv")
    assert str(error.value) == (
        "standard input (-) is a terminal; send pairs into it, for example: zcat pairs.gz | regard …"
    )


def test_where_it_is_not_read_it_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^-: no such file"):
        corpora([Path("-")])
