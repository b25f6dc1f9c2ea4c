"""Standard input: kept whole, read once."""

import io
from pathlib import Path

import pytest

from regard.data.formats.corpus import Corpus, corpora
from regard.data.formats.stdin_corpus import keep_stream, reads_standard_input
from regard.errors import DataError


def test_a_dash_is_standard_input(tmp_path: Path) -> None:
    assert reads_standard_input([Path("a.tsv"), Path("-=0.5")])
    assert not reads_standard_input([Path("a-.tsv")])
    kept = tmp_path / "kept.tsv"
    assert keep_stream(io.BytesIO(b"a\tb\n"), kept)
    assert kept.read_bytes() == b"a\tb\n"
    assert corpora([Path("-=0.5")], standard_input=kept) == [Corpus((kept,), 0.5)]


def test_it_comes_only_once() -> None:
    with pytest.raises(DataError) as error:
        reads_standard_input([Path("-"), Path("-=2")])
    assert str(error.value) == "standard input (-) can be read only once; give it once"


class Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("nothing", [io.BytesIO(), Terminal()])
def test_what_came_stays_where_nothing_comes(tmp_path: Path, nothing: io.BytesIO) -> None:
    kept = tmp_path / "kept.tsv"
    kept.write_bytes(b"a\tb\n")
    assert not keep_stream(nothing, kept)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("kept.tsv", b"a\tb\n")]
    assert keep_stream(io.BytesIO(b"c\td\n"), kept)
    assert kept.read_bytes() == b"c\td\n"


def test_a_terminal_has_no_pairs(tmp_path: Path) -> None:
    keep_stream(io.BytesIO(), tmp_path / "kept.tsv")  # nor has this, so there is nothing to go on with
    with pytest.raises(DataError) as error:
        keep_stream(Terminal(), tmp_path / "kept.tsv")
    assert str(error.value) == (
        "standard input (-) is a terminal; send pairs into it, for example: zcat pairs.gz | regard …"
    )


def test_where_it_is_not_read_it_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^-: no such file"):
        corpora([Path("-")])
