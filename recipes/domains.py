"""The sources of the training data: their domain, their licence, and how much of them is held out.

The files are those of `tatoeba/en-fr` and `parallel-en-fr` in ../shared/data (or in $REGARD_SHARED_DATA).
"""

import gzip
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SHARED = Path(os.environ.get("REGARD_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))

TextPair = tuple[str, str]  # English and French


@dataclass(frozen=True)
class Source:
    """A file of pairs, with what its licence asks to be named."""

    file: str  # without `.tsv.gz`
    pairs: int  # in the file, for the notice
    title: str
    address: str
    licence: str


@dataclass(frozen=True)
class Domain:
    """A group of sources that is trained on, held out and scored together."""

    name: str
    sources: tuple[Source, ...]
    test: int  # held-out pairs to score the finished model on
    valid: int  # held-out pairs for the validations during training


CC_BY_3 = "CC BY 3.0, https://creativecommons.org/licenses/by/3.0/"
CC_BY_4 = "CC BY 4.0, https://creativecommons.org/licenses/by/4.0/"
APACHE = "Apache License 2.0, https://www.apache.org/licenses/LICENSE-2.0"
MIT = "MIT, https://opensource.org/license/mit"

# Divided already into train, val and test, by source sentence.
TATOEBA = SHARED / "tatoeba" / "en-fr"

DOMAINS = (
    Domain(
        "debates",
        (
            Source(
                "europarl",
                380_000,
                "Debates of the European Parliament, 1996-2011; corpus by Philipp Koehn",
                "https://github.com/mjlaali/Europarl-ConcoDisco",
                "© European Union, 1996-2011; source: European Parliament; reuse authorised, provided the source is "
                "acknowledged",
            ),
        ),
        test=800,
        valid=200,
    ),
    Domain(
        "stories",
        (
            Source(
                "african-storybook",
                2_073,
                "African Storybook, by way of the Global African Storybook Project",
                "https://github.com/global-asp/asp-source",
                "CC BY 3.0 or 4.0, https://creativecommons.org/licenses/by/4.0/",
            ),
        ),
        test=800,
        valid=100,
    ),
    Domain(
        "public-service",
        (
            Source(
                "canada-digital",
                10_676,
                "Canadian Digital Service: guides and services",
                "https://github.com/cds-snc",
                f"© Her Majesty the Queen in Right of Canada; {MIT}, and {APACHE}",
            ),
        ),
        test=800,
        valid=200,
    ),
    Domain(
        "software",
        (
            Source("php-docs", 26_153, "PHP manual", "https://github.com/php/doc-en and doc-fr", CC_BY_3),
            Source(
                "python-docs",
                21_609,
                "Python documentation and its French translation",
                "https://github.com/python/python-docs-fr",
                "CC0 1.0; PSF License, © Python Software Foundation",
            ),
            Source(
                "react-docs",
                10_271,
                "React documentation",
                "https://github.com/reactjs/react.dev and fr.react.dev",
                CC_BY_4,
            ),
            Source(
                "godot-docs",
                9_117,
                "Godot documentation, © Juan Linietsky, Ariel Manzur and the Godot community",
                "https://github.com/godotengine/godot-docs-l10n",
                CC_BY_3,
            ),
            Source("huggingface-course", 3_670, "Hugging Face course", "https://github.com/huggingface/course", APACHE),
        ),
        test=800,
        valid=200,
    ),
    Domain(
        "statutes",
        (
            Source(
                "canada-laws",
                55_106,
                "Consolidated Acts and Regulations of Canada, Department of Justice Canada",
                "https://github.com/justicecanada/laws-lois-xml",
                "contains information licensed under the Open Government Licence - Canada, "
                "https://open.canada.ca/en/open-government-licence-canada",
            ),
        ),
        test=800,
        valid=100,
    ),
    Domain(
        "guides",
        (
            Source("learnosm", 4_180, "LearnOSM", "https://github.com/hotosm/learnosm", "CC0 1.0"),
            Source(
                "programming-historian",
                2_903,
                "Programming Historian",
                "https://github.com/programminghistorian/jekyll",
                CC_BY_4,
            ),
            Source(
                "opensource-guide", 1_325, "Open Source Guides", "https://github.com/github/opensource.guide", CC_BY_4
            ),
            Source("datenanfragen", 558, "datenanfragen.de", "https://github.com/datenanfragen/website", MIT),
        ),
        test=800,
        valid=100,
    ),
    # A test set of 800 lines would leave hardly any dialogue to train on.
    Domain(
        "dialogue",
        (
            Source(
                "x-risawoz",
                959,
                "X-RiSAWOZ, Stanford Open Virtual Assistant Lab",
                "https://github.com/stanford-oval/dialogues",
                f"{CC_BY_4}; BSD 3-Clause",
            ),
        ),
        test=300,
        valid=50,
    ),
)


def read_domain(domain: Domain) -> Iterator[TextPair]:
    """Yield the pairs of all sources of a domain."""
    for source in domain.sources:
        yield from read_pairs(SHARED / "parallel-en-fr" / f"{source.file}.tsv.gz")


def read_pairs(file: Path) -> Iterator[TextPair]:
    """Yield the English and the French text of every line, in the typography that the models write."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            english, french = line.rstrip("\n").split("\t")[:2]
            yield plain(english), french_typography(french)


def plain(text: str) -> str:
    """Return a text with ordinary spaces and straight apostrophes, and without invisible characters."""
    return re.sub(r"\s+", " ", re.sub("[\u00ad\u200b\ufeff]", "", text.replace("’", "'"))).strip()


def french_typography(text: str) -> str:
    """Return a French text with straight apostrophes, and an ordinary space before ? ! ; : and inside of « »."""
    text = re.sub(r"(?<=[\w)\"'»%])([?!;]+)(?=[\s)\"»]|$)", r" \1", plain(text))
    text = re.sub(r"(?<=[^\W\d][\w)]):(?=\s|$)", " :", text)
    return re.sub(r"\s*»", " »", re.sub(r"«\s*", "« ", text))
