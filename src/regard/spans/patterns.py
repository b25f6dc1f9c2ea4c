"""Finds the spans of a text that must not be translated, such as URLs, placeholders of programs, and product codes.

Texts come from anywhere, so every pattern takes linear time: a repeated part is bounded, or it ends at a character that
also ends the next attempt.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from regard.tokenizers.placeholders import ALL_PLACEHOLDERS

MARK_OPEN, MARK_CLOSE = "<keep>", "</keep>"  # what a user writes around a text that must not be translated


@dataclass(frozen=True)
class Span:
    """A part of a text, from `begin` up to, but not including, `end`, that stands in a translation as `text`."""

    kind: str
    begin: int
    end: int
    text: str


# A text without these has no spans, which most texts are. The test is many times faster than the search.
_MAY_HAVE_SPANS = re.compile(
    rf"[/@#%{{$<`\\_&\u2190-\u2bff\U0001f000-\U0001faff{ALL_PLACEHOLDERS}]"
    r"|\w[.-]\w|\d[A-Z]|[A-Z]\d|\(\d|\+\d|\d \d|--|\(\)|[a-z]\d|\]\(|\*[\w*\"'(«“`]|\w\+\w|\+\+|[a-z][A-Z]"
)

# Arrows, signs and emoji, and what may follow the first character of an emoji, as ranges in a regular expression.
SYMBOL = r"\u2190-\u2bff\U0001f000-\U0001faff"
SYMBOL_PART = r"\ufe0f\u200d\u20e3\U0001f3fb-\U0001f3ff"

_DOMAINS = (
    "com|org|net|edu|gov|int|info|io|dev|app|ai|eu|uk|fr|de|ch|at|be|ca|us|it|es|nl|pl|se|jp|cn|ru|br|au|in|co|me|tv"
)

_SUFFIXES = (
    "aac|avi|bak|bash|bat|bin|bmp|bz2|cfg|conf|cpp|css|csv|dat|db|deb|dll|dmg|doc|docx|env|epub|exe|flac|gif|go|gz|h|"
    "hpp|htm|html|ico|ini|ipynb|iso|jar|java|jpeg|jpg|js|json|jsx|key|kt|lock|log|lua|md|mkv|mov|mp3|mp4|odp|ods|odt|"
    "ogg|pdf|pem|php|pkl|png|po|pot|ppt|pptx|ps1|psd|pt|py|rar|rb|rpm|rs|rst|rtf|sh|so|sql|sqlite|srt|svg|swift|tar|"
    "tex|tgz|tif|tiff|toml|ts|tsv|tsx|ttf|txt|vtt|wav|webm|webp|whl|xls|xlsx|xml|yaml|yml|zip|zst"
)

_NAME = r"[\w.@+~-]{1,128}"  # one part of a path

_REST = r"[^\s<>\"«»“”`]"  # a character of a URL

# Spans that start with a letter, a digit or an underscore, of which no other one comes before. The first pattern that
# fits is taken, so those that could fit a part of a longer span come later.
_WORD_PATTERNS = [
    ("url", rf"(?:https?|ftps?|sftp|ssh|git|file|wss?|s3)://{_REST}{{1,4000}}"),
    ("url", rf"(?:mailto|tel):{_REST}{{1,400}}|www\.{_REST}{{1,4000}}"),
    ("e-mail", r"(?<![.+%-])\w(?:[\w.+%-]{0,63}[\w+%-])?@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"),
    (
        "url",
        rf"(?<![.@/-])(?:[a-z\d][a-z\d-]{{0,62}}\.){{1,6}}(?:{_DOMAINS})\b(?![.-]?\w)(?:/{_REST}{{0,4000}})?",
    ),
    ("path", r"[A-Za-z]:\\[^\s<>\"|?*]{0,400}"),
    ("path", rf"(?<![/.-])(?:[\w.@-]{{1,64}}/){{1,20}}[\w.@-]{{0,64}}\.(?:{_SUFFIXES})\b"),
    ("path", r"(?<![/.-])(?:[\w.@-]{1,64}/){2,20}(?![\w.])"),
    ("path", rf"(?<![/.-])[\w-]{{1,64}}(?:\.[\w-]{{1,64}}){{0,4}}\.(?:{_SUFFIXES})\b(?!\.\w)"),
    ("telephone", r"(?<![.,-])0\d(?:[ .-]\d\d){4}(?!\w)|(?<![.,-])(?:1-)?\d{3}[-.]\d{3}[-.]\d{4}(?!\w)"),
    ("telephone", r"(?<![.,-])0\d{2,3}(?: \d{3}){2,3}(?!\w)"),
    ("telephone", r"(?<![.,-])0\d{2,4}[ /-]\d{5,8}(?!\w)|(?<![.,-])\d{3}-\d{4}(?![\w-])"),
    ("product code", r"(?<![.-])[A-Z]{2}\d{2}(?: [A-Z\d]{4}){2,7}(?: [A-Z\d]{1,4})?(?!\w)"),  # a bank account
    (
        "product code",
        r"(?<![.-])(?!\d{1,2}\.\d{1,2}\.\d{4}(?!\d|\.\d))v?\d{1,5}(?:\.\d{1,5}){2,4}(?:[-+.]?[a-z]{1,5}\.?\d{1,3})?(?![\w-])",
    ),  # a version
    ("product code", r"(?<![.-])v\d{1,3}(?:\.\d{1,3})?(?!\w)"),
    ("product code", r"(?<![.-])[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?!\w)"),
    ("product code", r"(?=[a-f]{0,64}\d)(?=\d{0,64}[a-f])[\da-f]{7,64}(?!\w)"),  # a hash
    (
        "product code",
        r"(?<![.-])(?=[A-Z\d./-]{0,40}?\d)(?=[\d./-]{0,40}?[A-Z])(?!\d{1,4}[A-Z]{1,2}(?![\w-]))"
        r"[A-Z\d]{1,32}(?:[-./][A-Z\d]{1,32}){0,8}(?![\w-])",
    ),
    ("product code", r"(?<![.-])[A-Z]{1,5}-[A-Z\d]{2,12}(?:-[A-Z\d]{1,12}){0,4}(?![\w-])"),
    ("product code", r"(?<![.-])[A-Z][A-Za-z]{0,20}-?\d{1,8}[A-Za-z]{0,3}(?![\w-])"),
    ("identifier", r"[A-Za-z_][\w.]{0,100}\(\)|(?:Ctrl|Alt|Shift|Cmd)(?:\+\w{1,9}){1,3}|[A-Z](?:\+\+|#)(?!\w)"),
    ("identifier", r"(?=\w{5})[A-Za-z][a-z]{0,40}(?<=[a-z])[A-Z][A-Za-z\d]{0,60}\b"),  # parseText, PlayStation
    ("identifier", r"(?=\w{0,60}[^\W_]_\w)[A-Za-z_]\w{1,100}\b|__\w{1,60}\b"),
]

# Spans that start with any other character.
_OTHER_PATTERNS = [
    ("marked", rf"{MARK_OPEN}[^\n<]{{1,1000}}{MARK_CLOSE}"),
    ("code", r"``(?:[^`\n]|`(?!`)){1,1000}``|`[^`\n]{1,1000}`"),
    (
        "placeholder",
        r"\{\w{1,50},\s?(?:plural|select|selectordinal),(?:[^{}\n]|\{(?:[^{}\n]|\{[^{}\n]{0,50}\}){0,300}\}){1,1000}\}",
    ),
    ("placeholder", r"\{\{[^{}\n]{1,200}\}\}|[$#]\{[^{}\n]{1,200}\}|\{[\w.,:!#$@\[\]-]{0,100}\}"),
    ("placeholder", r"(?<!\w)\$[A-Za-z_]\w{0,63}\b"),
    ("placeholder", r"%\([\w.]{1,64}\)[a-zA-Z]|%\{[\w.]{1,64}\}"),
    (
        "placeholder",
        r"(?<![\d%])%(?:\d{1,2}\$)?[-+0#]?\d{0,3}(?:\.\d{1,3})?(?:ll|l|h|z)?[sdiufxXeEgGcp@](?![A-Za-z])"
        r"|(?<![\d%])%\d{1,2}(?!\d)|(?<![\d %])%%",
    ),
    ("code", r"<(?P<code>code|kbd|samp|var)\b[^<>\n]{0,200}>[^<>\n]{1,1000}</(?P=code)>"),
    ("tag", r"</?[A-Za-z][^<>\n]{0,400}>"),
    # Links of Markdown whose text is an image, or the address itself.
    ("url", r"\[!\[[^\[\]\n]{0,200}\]\([^()\s]{1,1000}\)\]\([^()\s]{1,1000}\)"),
    ("url", r"\[(?P<address>[^\[\]\s]{1,200})\]\((?P=address)\)"),
    # Links and emphasis of Markdown: what stands before their text, and what stands after it.
    ("tag", r"!?\[(?=[^\[\]\n]{1,200}\]\([^()\s]{1,1000}\))|(?<=[^\[\s])\]\([^()\s]{1,1000}\)"),
    ("tag", r"(?<![\w*])\*\*(?=[\w\"'(«“`])|(?<=[^\s*])\*\*(?![\w*])"),
    ("tag", r"(?<![\w*])\*(?=[\w\"'(«“`][^*\n]{0,300}(?<=[^\s*])\*(?![\w*]))|(?<=[^\s*])\*(?![\w*])"),
    ("placeholder", r"&(?:#\d{1,7}|#x[\da-fA-F]{1,6}|[A-Za-z][A-Za-z\d]{1,30});"),
    ("placeholder", r"\\[nrt](?![a-z])"),
    ("path", r"\\\\\w[^\s<>\"|?*]{1,400}"),
    ("path", rf"(?<![\w/.<])(?:~|\.{{1,2}})?/(?=[\w.])(?!\d+\b){_NAME}(?:/{_NAME})*+/?"),
    ("path", r"(?<![\w/.-])\.[a-z][\w-]{1,30}rc\b"),
    ("user name", r"(?<![\w@/.])@[A-Za-z_](?:[\w.-]{0,62}\w)?"),
    ("product code", r"(?<![\w&#/])#[A-Z]{1,5}-[A-Z\d][A-Z\d-]{0,20}(?!\w)"),
    ("hashtag", r"(?<![\w&#/])#\w{1,100}"),
    ("telephone", r"(?<!\w)\+\d(?:[ ./-]?\(?\d{1,4}\)?){2,8}(?!\w)|(?<!\w)\(0?\d{2,4}\)[ -]?\d{3,4}[ -]\d{3,5}(?!\w)"),
    ("identifier", r"(?<![\w-])--[a-z][\w-]{1,60}(?:=[\w./:-]{1,100})?"),
    ("symbol", rf"[{ALL_PLACEHOLDERS}]"),
    ("symbol", rf"[{SYMBOL}][{SYMBOL}{SYMBOL_PART}]{{0,15}}"),
]


def _alternatives(patterns: list[tuple[str, str]], first: int) -> str:
    return "|".join(f"(?P<k{number}>{pattern})" for number, (_, pattern) in enumerate(patterns, first))


# Most positions are inside a word, and are left after the first test.
_SPAN = re.compile(
    rf"(?<!\w)(?=\w)(?:{_alternatives(_WORD_PATTERNS, 0)})"
    rf"|(?=[^\w\s,;:?'])(?:{_alternatives(_OTHER_PATTERNS, len(_WORD_PATTERNS))})"
)

_KINDS = {f"k{number}": kind for number, (kind, _) in enumerate([*_WORD_PATTERNS, *_OTHER_PATTERNS])}

_TRIMMED = ".,;:!?'\"’”»…*"

_BRACKETS = {")": "(", "]": "[", "}": "{"}


def find_spans(text: str) -> list[Span]:
    """Return the protected spans of a text, from left to right. They do not overlap."""
    if _MAY_HAVE_SPANS.search(text) is None:
        return []
    return list(_find(text))


def _find(text: str) -> Iterator[Span]:
    in_emphasis = False
    for match in _SPAN.finditer(text):
        kind = _KINDS[str(match.lastgroup)]
        begin, end = match.span()
        if kind == "marked":
            yield Span(kind, begin, end, text[begin + len(MARK_OPEN) : end - len(MARK_CLOSE)])
            continue
        if match[0] == "*":
            if not in_emphasis and not text[end : end + 1].strip(_TRIMMED):
                continue  # a footnote, not the end of an emphasis
            in_emphasis = not in_emphasis
        if kind in ("url", "path"):
            end = _without_punctuation(text, begin, end)
        if end > begin:
            yield Span(kind, begin, end, text[begin:end])


def _without_punctuation(text: str, begin: int, end: int) -> int:
    """Return the end of a URL or a path without the punctuation of the sentence after it."""
    # The brackets are counted once, so that many brackets at the end do not take quadratic time.
    surplus = {
        close: text.count(close, begin, end) - text.count(opening, begin, end) for close, opening in _BRACKETS.items()
    }
    while end > begin:
        last = text[end - 1]
        if last in _BRACKETS and surplus[last] > 0:
            surplus[last] -= 1
        elif last not in _TRIMMED:
            break
        end -= 1
    return end
