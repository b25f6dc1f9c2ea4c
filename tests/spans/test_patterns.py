"""Protected spans are found, whole and in linear time; ordinary text has none."""

import time
from pathlib import Path

import pytest

from regard.spans.patterns import find_spans

CASES = Path(__file__).parents[2] / "bench" / "workloads" / "protected_spans.tsv"

MAX_SECONDS = 60  # for a megabyte; a quadratic pattern would take hours, even on a fast machine


def found(text: str) -> list[str]:
    return [span.text for span in find_spans(text)]


def test_each_case_has_one_span_of_its_kind() -> None:
    rows = [line.split("\t") for line in CASES.read_text("utf-8").splitlines()]
    wrong = [text for _, kind, text in rows if kind != "several" and [span.kind for span in find_spans(text)] != [kind]]
    assert len(rows) > 300
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("See https://example.com/a_(b), or www.example.org.", ["https://example.com/a_(b)", "www.example.org"]),
        ("(see http://example.com/x).", ["http://example.com/x"]),
        ("Hello {name}, you have %d of %1$s in ${x}.", ["{name}", "%d", "%1$s", "${x}"]),
        ("Read the [manual](https://example.com).", ["[", "](https://example.com)"]),
        ("This is **very** good.", ["**", "**"]),
        ("This is *very good*, but 2 * 3 = 6*.", ["*", "*"]),
        ("See [a.md](a.md) and [![x](y.svg)](z).", ["[a.md](a.md)", "[![x](y.svg)](z)"]),
        ("Press <kbd>Enter</kbd>.", ["<kbd>Enter</kbd>"]),
        ("It is <keep>Blue Sky</keep>.", ["Blue Sky"]),
        ("Order #A-77812 (#4521), or #moving.", ["#A-77812", "#4521", "#moving"]),
        ("The class FooBar calls parseText on an iPhone15.", ["FooBar", "parseText", "iPhone15"]),
        ("C:\\Users\\a.txt and /etc/hosts and src/main.py", ["C:\\Users\\a.txt", "/etc/hosts", "src/main.py"]),
    ],
)
def test_spans(text: str, spans: list[str]) -> None:
    assert found(text) == spans


@pytest.mark.parametrize(
    "text",
    [
        "It is 100% sure that 50 % de plus and/or 20% discount at 3 km/h, 24/7.",
        "At 10:30 on 2024-01-15, 3.5 km, 1,234.56 euros, 5KM, 10AM, on 15.01.2024.",
        "The Boeing 747-400 of 1990-1995. Mr. Smith, e.g. U.S.A., isn't well-known.",
        "A PhD at 5 kWh, IDs, OKed, O'Neill, and the WiFi.",
        "I paid $5. Peter's 5-year-old X-ray (he said) was 2 * 3 = 6.",
    ],
)
def test_ordinary_text_has_no_spans(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize("unit", ["a.", "@a", "`a ", "{", "http://a)", "A1-", "a/", "<a", "1 ", "**a", "[a]("])
def test_hostile_text_takes_little_time(unit: str) -> None:
    text = unit * (20_000 // len(unit))
    began = time.perf_counter()
    find_spans(text)
    assert time.perf_counter() - began < MAX_SECONDS / 10


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["a.", "@a", "`a ", "{", "http://a)", "A1-", "a/", "<a", "1 ", "**a", "[a]("])
def test_a_megabyte_takes_seconds(unit: str) -> None:
    began = time.perf_counter()
    find_spans(unit * (1_000_000 // len(unit)))
    assert time.perf_counter() - began < MAX_SECONDS
