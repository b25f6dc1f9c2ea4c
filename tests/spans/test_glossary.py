"""Terms of a glossary: matching, case, forms, and errors in files."""

from pathlib import Path

import pytest

from regard.errors import DataError
from regard.spans.glossary import Glossary
from regard.spans.patterns import find_spans


def found(terms: dict[str, str], text: str) -> list[tuple[str, str]]:
    return [(text[span.begin : span.end], span.text) for span in Glossary(terms).find(text, find_spans(text))]


def test_the_longest_term_wins_and_terms_are_whole_words() -> None:
    terms = {"machine": "engin", "machine learning": "apprentissage automatique"}
    assert found(terms, "Machine learning is no machine, machines are.") == [
        ("Machine learning", "Apprentissage automatique"),
        ("machine", "engin"),
    ]


def test_apostrophes() -> None:
    assert found({"cat": "matou"}, "The cat's food, a cat-like cat’s food") == [("cat", "matou")] * 2
    assert found({"école": "school"}, "L'école n'est qu'école.") == [("école", "school")] * 2
    assert found({"can": "boîte", "hui": "x"}, "I can't aujourd'hui.") == []
    assert found({"aujourd'hui": "today"}, "Aujourd'hui") == [("Aujourd'hui", "Today")]


def test_forms_are_translated_one_by_one_and_the_last_target_serves_the_rest() -> None:
    assert found({"car|cars": "auto|autos"}, "a car, two cars") == [("car", "auto"), ("cars", "autos")]
    assert found({"sheep|ewe": "mouton"}, "ewe") == [("ewe", "mouton")]


def test_case() -> None:
    assert found({"car": "auto"}, "Car CAR car") == [("Car", "Auto"), ("CAR", "AUTO"), ("car", "auto")]
    assert found({"IT": "informatique"}, "IT is it") == [("IT", "informatique")]


def test_an_equals_sign_keeps_the_term_as_it_is_written() -> None:
    assert found({"blue sky": "="}, "Blue Sky") == [("Blue Sky", "Blue Sky")]


def test_terms_inside_of_protected_spans_are_not_found() -> None:
    assert found({"car": "auto"}, "See https://example.com/car now") == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("car auto", "no tab; write: source term, one tab, target term"),
        ("car\tauto\tx", "2 tabs"),
        ("\tauto", "the source term is empty"),
        ("car\t", "the target term is empty; write = to keep"),
        ("car\tauto|autos", "2 target forms for 1 source forms"),
        ("dog\tchienne", "the term 'dog' has an earlier entry"),
        ("!?\tx", "has no letter"),
    ],
)
def test_a_bad_line_is_an_error_with_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text(f"# terms\ndog\tchien\n{line}\n", "utf-8")
    with pytest.raises(DataError) as error:
        Glossary.read(path)
    assert str(error.value).startswith(f"{path}:3: ")
    assert message in str(error.value)


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    with pytest.raises(DataError, match="cannot be read"):
        Glossary.read(path)
    path.write_text("\n", "utf-8")
    with pytest.raises(DataError, match="no terms"):
        Glossary.read(path)
    path.write_bytes(b"a\tb\n\xe9\tc\n")
    with pytest.raises(DataError, match=r"terms\.tsv:2: not UTF-8"):
        Glossary.read(path)


def test_a_file_from_windows_is_read_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_bytes("\ufeffcar\tauto\r\ndog\t=\r\n".encode())
    assert [span.text for span in Glossary.read(path).find("car dog", [])] == ["auto", "dog"]
