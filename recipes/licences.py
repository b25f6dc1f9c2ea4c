"""Write what the licences of all training data ask for: NOTICE, and the section of a model card.

    python recipes/licences.py NOTICE       # writes NOTICE at the top of the repository
    python recipes/licences.py CARD.md      # replaces the section "Licence" of a card

NOTICE names the sources of all domains and the authors of the Tatoeba sentences. Run this when models are bundled that
were trained on the data of `domain_corpora.py`.
"""

import gzip
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from attribution import authors
from domains import DOMAINS, TATOEBA

NOTICE = """\
Regard's own text, code, word lists and grammar are under the MIT licence: see LICENSE.

The models in src/regard/model_folder/bundled were trained on the built-in synthetic language, which is part of Regard,
and on the following collections of English and French sentences. Changes: selected, divided into training, validation
and test sets, in part changed to what people type, and turned into the parameters of models, the tokens of their
tokenizers, and counts of short sequences of characters. The sentences themselves are not part of Regard.

The parameters, tokenizers and language profiles may be used, changed and shared under the conditions of all these
licences; keep this notice with them.

{sources}

The {count:,} authors of the Tatoeba sentences, by their names at tatoeba.org:

{names}
"""
TATOEBA_ENTRY = (
    "Tatoeba, by way of https://www.manythings.org/anki/",
    "https://tatoeba.org",
    "CC BY 2.0 FR, https://creativecommons.org/licenses/by/2.0/fr/",
)
CARD = """\
## Licence
The parameters may be used, changed and shared under the conditions of the licences of the training data:

| training data | licence |
|---|---|
{rows}

NOTICE has the addresses, the authors of the Tatoeba sentences, and the changes. The built-in language is part of
Regard, under the MIT licence.
"""


def main() -> None:
    path = Path(sys.argv[1])
    if path.name == "NOTICE":
        with gzip.open(TATOEBA / "attribution.tsv.gz", "rt", encoding="utf-8") as lines:
            path.write_text(notice_text(authors(lines)), "utf-8")
    else:
        before, section, _ = path.read_text("utf-8").partition("## Licence\n")
        assert section, f"{path} has no section Licence"
        path.write_text(before + card_section(), "utf-8")


def entries() -> list[tuple[str, str, str]]:
    """Return the title, the address and the licence of every source."""
    sources = [source for domain in DOMAINS for source in domain.sources]
    return [TATOEBA_ENTRY, *((source.title, source.address, source.licence) for source in sources)]


def notice_text(names: Sequence[str]) -> str:
    def wrap(text: str, **indents: str) -> str:
        return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False, **indents)

    sources = "\n".join(
        wrap(f"- {title}; {address}; {licence}", initial_indent="  ", subsequent_indent="    ")
        for title, address, licence in entries()
    )
    return NOTICE.format(sources=sources, count=len(names), names=wrap(", ".join(names)))


def card_section() -> str:
    return CARD.format(rows="\n".join(f"| {title} | {licence} |" for title, _, licence in entries()))


if __name__ == "__main__":
    main()
