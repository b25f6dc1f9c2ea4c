"""Write NOTICE: the authors of the sentences that the bundled models were trained on.

python recipes/attribution.py        # writes NOTICE at the top of the repository
"""

import gzip
import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from corpora import TATOEBA

ATTRIBUTION_LINE = re.compile(r"CC-BY 2\.0 \(France\) Attribution: tatoeba\.org #\d+ \((.*?)\) & #\d+ \((.*?)\)\n")
TEXT = """\
Regard's own text, code, word lists and grammar are under the MIT licence: see LICENSE.

The models in src/regard/model_folder/bundled were trained on two sources. One is the built-in synthetic language, which
is part of Regard. The other is pairs of English and French sentences from the Tatoeba project:

    from      https://tatoeba.org, by way of https://www.manythings.org/anki/
    licence   Creative Commons Attribution 2.0 France, https://creativecommons.org/licenses/by/2.0/fr/
    changes   divided into sentences for training, validation and test; pairs with one of the famous sentences (FAMOUS
              in src/regard/data/synthetic/splits.py) left out; turned into the parameters of models, the tokens of
              their tokenizers, and counts of short sequences of characters. The sentences themselves are not
              part of Regard.

The parameters, tokenizers and language profiles in src/regard/model_folder/bundled are under the same licence,
CC BY 2.0 FR.

The {count:,} authors of these sentences, by their names at tatoeba.org:
"""


def main() -> None:
    with gzip.open(TATOEBA / "attribution.tsv.gz", "rt", encoding="utf-8") as lines:
        names = authors(lines)
    notice = Path(__file__).parents[1] / "NOTICE"
    notice.write_text(notice_text(names), "utf-8")
    print(f"{notice}: {len(names):,} names")


def notice_text(names: Sequence[str]) -> str:
    wrapped = textwrap.fill(", ".join(names), 120, break_long_words=False, break_on_hyphens=False)
    return f"{TEXT.format(count=len(names))}\n{wrapped}\n"


def authors(lines: Iterable[str]) -> list[str]:
    """Return every name once, in alphabetical order."""
    unique: set[str] = set()
    for line in lines:
        match = ATTRIBUTION_LINE.fullmatch(line)
        assert match, f"not a line of attribution: {line!r}"
        unique.update(match.groups())
    return sorted(unique, key=lambda name: (name.casefold(), name))


if __name__ == "__main__":
    main()
