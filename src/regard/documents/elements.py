"""What Regard knows about elements: which of them separate texts, and which are not translated.

In HTML, this depends on the names that the standard defines. In XML, an element separates texts if the document has no
text beside it and its siblings, as in a list of paragraphs.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regard.documents.scanner import Format, Token, names

# Elements of HTML before and after which a text ends. All others are inside of a sentence.
_SPLITTING = names(
    "address applet area article aside base basefont bgsound blockquote body br button canvas caption center col "
    "colgroup datalist dd details dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 "
    "h4 h5 h6 head header hgroup hr html iframe legend li link listing main marquee menu meta nav noscript object "
    "optgroup option ol p param plaintext pre search section select summary table tbody td template textarea tfoot th "
    "thead title tr ul"
)

_CODE = names("code kbd samp var")  # elements of HTML whose text is written by or for a program

# Elements of HTML that also end where the next element of their kind begins.
OPTIONAL_END = names("dd dt li option p rp rt tbody td tfoot th thead tr")

_ATTRIBUTE = re.compile(
    r"""([^\t\n\f\r />][^\t\n\f\r />=]*+)
    (?: [\t\n\f\r ]*+ = [\t\n\f\r ]*+ ("[^"]*+"|'[^']*+'|[^\t\n\f\r >]*+) )?+""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class MarkupOptions:
    """How the elements of a document are treated. In HTML, the case of names does not matter."""

    format: Format = "html"
    splitting_tags: frozenset[str] = frozenset()  # elements before and after which a text ends
    non_splitting_tags: frozenset[str] = frozenset()  # elements inside of a sentence
    ignore_tags: frozenset[str] = frozenset()  # elements that are not translated
    # In XML: find out which elements separate texts. If not, these are only `splitting_tags`.
    find_structure: bool = True
    # Whether line breaks and repeated spaces mean no more than one space. None: in HTML only.
    collapse_space: bool | None = None

    def __post_init__(self) -> None:
        if self.format == "html":
            for name in ("splitting_tags", "non_splitting_tags", "ignore_tags"):
                object.__setattr__(self, name, frozenset(map(str.lower, getattr(self, name))))


Splits = Callable[[int, str], bool]  # whether the element of a tag, given its index and name, separates texts


def splitting(tokens: Sequence[Token], partners: dict[int, int], options: MarkupOptions) -> Splits:
    """Return a function that says whether an element separates texts.

    `partners` has the index of the end tag of each start tag, and the other way round.
    """
    structural: set[int] = set()
    if options.format == "xml" and options.find_structure and not options.splitting_tags:
        structural = _structural(tokens, partners)

    def splits(index: int, name: str) -> bool:
        if name in options.non_splitting_tags:
            return False
        if name in options.splitting_tags:
            return True
        return name in _SPLITTING if options.format == "html" else index in structural

    return splits


def _structural(tokens: Sequence[Token], partners: dict[int, int]) -> set[int]:
    """Return the tags of the elements of XML that have no text beside them, and none beside the elements around them.

    A document with several elements at its top level is part of a text.
    """
    mixed: set[int] = set()  # the start tags of elements that have text of their own
    parents: dict[int, int] = {}  # of each tag
    open_elements = [-1]
    for index, token in enumerate(tokens):
        if token.kind in ("text", "cdata") and not token.raw.isspace():
            mixed.add(open_elements[-1])
        elif token.kind == "end" and index in partners:
            open_elements.pop()
        elif token.kind == "empty" or (token.kind == "start" and index in partners):
            parents[index] = open_elements[-1]
            if token.kind == "start":
                open_elements.append(index)
    if list(parents.values()).count(-1) > 1:
        mixed.add(-1)
    found: set[int] = set()
    for index, parent in parents.items():  # an element comes after the elements around it
        if parent not in mixed and (parent == -1 or parent in found):
            found |= {index, partners.get(index, index)}
    return found


def is_protected(token: Token, options: MarkupOptions) -> bool:
    """Return whether a start tag says that its element is not translated."""
    if token.name in options.ignore_tags or (options.format == "html" and token.name in _CODE):
        return True
    if "translate" not in token.raw.lower():
        return False
    for name, value in _ATTRIBUTE.findall(token.raw, 1 + len(token.name)):
        value = value.strip("\"'").lower()
        if value == "no" if name.lower() == "translate" else "notranslate" in value.split():
            return True
    return False
