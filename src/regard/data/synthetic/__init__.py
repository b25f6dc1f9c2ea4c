"""The built-in synthetic language: an unlimited supply of English-French sentence pairs with annotations.

A grammar generates the English and the French sentence of a pair together, so the word alignment, the subjects and
objects of verbs, and the antecedents of pronouns are known. The functions `pairs`, `minimal_pairs` and
`ambiguous_pronoun_pairs` return endless streams of pairs.
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
