"""No span is ever lost, wherever it stands and whatever the model does: the parameters of the model are random."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.inference.translator import Translator
from regard.inference.translator_loader import load_translator
from regard.settings.decode import DecodeSettings
from regard.spans.patterns import find_spans

QUICK = DecodeSettings(beam_size=1, max_length=12)

PATTERNS = {
    "url": r"https?://[a-z]{1,8}\.example\.(com|org)(/[a-z0-9_~-]{1,6}){0,3}(\?[a-z]=[0-9]{1,3}(&b=%2F)?)?",
    "e-mail": r"[a-z]{1,6}([._+-][a-z0-9]{1,5})?@[a-z]{2,8}\.(com|fr|co\.uk)",
    "path": r"(/[a-z]{2,6}){2,4}|[a-z]{2,8}/[a-z]{1,8}\.(py|txt|csv)|C:\\[A-Z][a-z]{1,5}\\[a-z]{1,6}\.docx",
    "code": r"`[a-z]{1,6}( = |   |\()[0-9a-z]{1,4}\)?`",
    "placeholder": r"\{[a-z_]{1,9}\}|\{\{ [a-z]{1,5}\.[a-z]{1,5} \}\}|%[sd]|%[1-9]\$[sd]|\$\{[a-zA-Z]{1,6}\}",
    "tag": r"<x id=\"[0-9]{1,3}\"/>",
    "user name": r"@[a-z]{2,8}_[a-z0-9]{1,4}",
    "hashtag": r"#[A-Z][a-z]{2,9}[0-9]{0,2}",
    "product code": r"[A-Z]{2,4}-[0-9]{3,5}(-[A-Z])?",
    "telephone": r"\+[1-9][0-9] [1-9]( [0-9]{2}){3,4}",
    "marked": r"<keep>[A-Z][a-z]{1,8}( [a-z&']{1,6}){0,3}</keep>",
}

SPANS = st.sampled_from(sorted(PATTERNS)).flatmap(
    lambda kind: st.tuples(st.just(kind), st.from_regex(PATTERNS[kind], fullmatch=True))
)
WORDS = st.sampled_from(["the", "cat", "Tom", "sees", "a red house.", "Is it you?", "l'été,", "- 12", "😀", "…"])
SPACES = st.sampled_from([" ", " ", " ", "\n", "\t", "   ", "\r\n\r\n"])


@pytest.fixture(scope="module")
def translator(make_model: Callable[..., Path]) -> Iterator[Translator]:
    with load_translator(make_model()) as loaded:
        yield loaded


@settings(max_examples=60)
@given(items=st.lists(st.tuples(SPANS | WORDS, SPACES), min_size=1, max_size=14))
def test_every_span_is_in_the_translation(
    translator: Translator, items: list[tuple[tuple[str, str] | str, str]]
) -> None:
    text = "".join((item if isinstance(item, str) else item[1]) + space for item, space in items)
    one = translator.translate(text, QUICK)
    spans = [item for item, _ in items if not isinstance(item, str)]
    kept = Counter(span.removeprefix("<keep>").removesuffix("</keep>") for _, span in spans)
    assert {span: one.text.count(span) >= count for span, count in kept.items()} == dict.fromkeys(kept, True)
    for placed in one.spans:
        assert one.text[slice(*placed.target)] == placed.text
        assert text[slice(*placed.source)] in (placed.text, f"<keep>{placed.text}</keep>")


@settings(max_examples=200)
@given(span=SPANS, before=WORDS, after=WORDS)
def test_a_span_between_words_is_found_whole(span: tuple[str, str], before: str, after: str) -> None:
    kind, written = span
    found = [each for each in find_spans(f"{before} {written} {after}") if each.kind != "symbol"]
    assert [(each.kind, each.end - each.begin) for each in found] == [(kind, len(written))]
