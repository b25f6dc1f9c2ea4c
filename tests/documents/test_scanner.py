"""The scanner divides every input, and reads each character a bounded number of times."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.documents import scanner
from regard.documents.scanner import Format, scan

_SIGNS = st.text(alphabet="<>/!?-='\"[]&; \nabDp\ud800", max_size=60)


def kinds(source: str, form: Format = "html") -> list[tuple[str, str]]:
    return [(token.kind, token.raw) for token in scan(source, form)]


@given(_SIGNS, st.sampled_from(["html", "xml"]))
def test_the_tokens_are_the_document(source: str, form: Format) -> None:
    tokens = list(scan(source, form))
    assert "".join(token.raw for token in tokens) == source
    assert all(token.raw for token in tokens)
    assert "rest" not in [token.kind for token in tokens[:-1]]


@pytest.mark.parametrize(
    ("source", "tokens"),
    [
        ("a<b>c</b>", [("text", "a"), ("start", "<b>"), ("text", "c"), ("end", "</b>")]),
        ("<a b=\"1>2\" c='>'>x", [("start", "<a b=\"1>2\" c='>'>"), ("text", "x")]),
        ("<a title=it's>x</a >", [("start", "<a title=it's>"), ("text", "x"), ("end", "</a >")]),
        ("<a =b='c>'>x", [("start", "<a =b='c>'>"), ("text", "x")]),
        ("<br><br/><b/>", [("empty", "<br>"), ("empty", "<br/>"), ("empty", "<b/>")]),
        ("1 < 2 <3 a<", [("text", "1 < 2 <3 a<")]),
        ("x <y and z", [("text", "x <y and z")]),
        ("<p>x <y 'z", [("start", "<p>"), ("text", "x <y 'z")]),
        ("x<a b='>y", [("text", "x"), ("rest", "<a b='>y")]),
        ("x<!-- y", [("text", "x"), ("rest", "<!-- y")]),
        ("<!-- > --><!--><!---><!-- --!>x", [("hidden", "<!-- > -->"), ("hidden", "<!-->"), ("hidden", "<!--->")]),
        ("<!doctype html><?php x?></><//>", [("hidden", "<!doctype html>"), ("hidden", "<?php x?>")]),
        ("<script>a<b>'</script >x", [("hidden", "<script>a<b>'</script >"), ("text", "x")]),
        ("<STYLE></sTyle>", [("hidden", "<STYLE></sTyle>")]),
        ("<script></scripts></script>", [("hidden", "<script></scripts></script>")]),
        ("<script>x", [("rest", "<script>x")]),
        ("<plaintext><b>", [("rest", "<plaintext><b>")]),
        ("<title>a<b>&lt;</title>", [("start", "<title>"), ("text", "a<b>&lt;"), ("end", "</title>")]),
    ],
)
def test_html(source: str, tokens: list[tuple[str, str]]) -> None:
    assert kinds(source)[: len(tokens)] == tokens


@pytest.mark.parametrize(
    ("source", "tokens"),
    [
        ("<a:b><é/></a:b>", [("start", "<a:b>"), ("empty", "<é/>"), ("end", "</a:b>")]),
        ("<br>x</br>", [("start", "<br>"), ("text", "x"), ("end", "</br>")]),
        ("<script>a<b/></script>", [("start", "<script>"), ("text", "a"), ("empty", "<b/>"), ("end", "</script>")]),
        ("<![CDATA[<b>]] >]]>x", [("cdata", "<![CDATA[<b>]] >]]>"), ("text", "x")]),
        ("<![CDATA[x", [("rest", "<![CDATA[x")]),
        ("<?x >?>y", [("hidden", "<?x >?>"), ("text", "y")]),
        ("<!DOCTYPE a [<!ENTITY b ']>'><!-- ' -->]>x", [("hidden", "<!DOCTYPE a [<!ENTITY b ']>'><!-- ' -->]>")]),
        ("<!DOCTYPE a [<!-- ]>x", [("rest", "<!DOCTYPE a [<!-- ]>x")]),
        ("<!DOCTYPE a [<? ]>x", [("rest", "<!DOCTYPE a [<? ]>x")]),
        ("<!DOCTYPE a>x", [("hidden", "<!DOCTYPE a>"), ("text", "x")]),
        ("a <1> b", [("text", "a <1> b")]),
    ],
)
def test_xml(source: str, tokens: list[tuple[str, str]]) -> None:
    assert kinds(source, "xml")[: len(tokens)] == tokens


_UNITS = [
    *("<a ", '<a x="', '<a x=">"', "<a x='y", "<a = ", "<a =", "</", "</a ", "<", "<b>", "<!--", "<!-- --", "<!", "<?"),
    *(
        "<![CDATA[",
        '<!DOCTYPE "',
        "<!DOCTYPE [",
        "<!DOCTYPE a ['",
        "<script>",
        "</script ",
        "<script></script",
        "<title>",
    ),
    *("<title></title", "<textarea>x</texta", "<p>x", "&", "<plaintext>x", "<br/>", ">", "<a b='c' ", "<a/"),
]


@pytest.mark.parametrize("form", ["html", "xml"])
@pytest.mark.parametrize("end", ["", ">"])
def test_the_work_is_linear(form: Format, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0

    def count(found: re.Match[str] | None, source: str, begin: int) -> re.Match[str] | None:
        nonlocal read
        read += (len(source) if found is None else found.end()) - begin
        return found

    monkeypatch.setattr(scanner, "_search", lambda pattern, *place: count(pattern.search(*place), *place))
    monkeypatch.setattr(scanner, "_match", lambda pattern, *place: count(pattern.match(*place), *place))
    for unit in _UNITS:
        source = unit * (20_000 // len(unit)) + end
        read = 0
        assert "".join(token.raw for token in scan(source, form)) == source
        assert read <= 5 * len(source) + 100, unit
