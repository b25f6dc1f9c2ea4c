"""The built-in language: English and French sentence pairs without end, made by a grammar, with the truth about them.

`pairs` and `flips` are all one needs. The words are in TSV files, the relations behind "it" in frames.toml.
"""

from regard.data.synthetic.annotations import Annotations, CoreferenceAnnotation, VerbAnnotation, WordAnnotation
from regard.data.synthetic.generator import ambiguous_pronoun_pairs, minimal_pairs, pairs
from regard.data.synthetic.grammar.realization import Pair
from regard.data.synthetic.splits import FAMOUS, SPLITS, is_famous, split_of

__all__ = [
    "FAMOUS",
    "SPLITS",
    "Annotations",
    "CoreferenceAnnotation",
    "Pair",
    "VerbAnnotation",
    "WordAnnotation",
    "ambiguous_pronoun_pairs",
    "is_famous",
    "minimal_pairs",
    "pairs",
    "split_of",
]  # fmt: skip
