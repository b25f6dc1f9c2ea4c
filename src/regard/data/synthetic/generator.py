"""Endless streams of sentence pairs of one split. Each pair comes from a template that is sampled by its weight."""

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from typing import NamedTuple

from regard.data.synthetic.grammar.phrases import Draft
from regard.data.synthetic.grammar.realization import Pair
from regard.data.synthetic.rng import Rng
from regard.data.synthetic.splits import SPLITS, split_of
from regard.data.synthetic.templates import (
    actions,
    complex_sentences,
    copular_clauses,
    coreference,
    preferences,
    questions,
)
from regard.errors import UserError


class _Template(NamedTuple):
    """The name of a kind of sentence, the function that samples one, and the percentage of such sentences."""

    kind: str
    sample: Callable[[Rng, Draft], Pair]
    weight: int


_TEMPLATES = (
    _Template("action", actions.action, 14),
    _Template("alone", actions.intransitive, 3),
    _Template("going", actions.movement, 3),
    _Template("giving", actions.giving, 3),
    _Template("liking", preferences.liking, 4),
    _Template("dream", actions.dream, 3),
    _Template("passive", actions.passive, 2),
    _Template("quality", copular_clauses.quality, 4),
    _Template("opinion", copular_clauses.opinion, 2),
    _Template("profession", copular_clauses.profession, 2),
    _Template("feeling", copular_clauses.feeling, 1),
    _Template("both", copular_clauses.coordination, 2),
    _Template("there_is", copular_clauses.there_is, 2),
    _Template("comparison", copular_clauses.comparison, 2),
    _Template("it_alone", copular_clauses.unambiguous_it, 2),
    _Template("far", complex_sentences.long_distance_agreement, 3),
    _Template("who_does", complex_sentences.subject_relative, 3),
    _Template("report", complex_sentences.reported_speech, 3),
    _Template("fate", complex_sentences.object_pronoun, 2),
    _Template("question", questions.question, 5),
    _Template("request", questions.request, 1),
)

# The rest of the 100 % is for the most frequent kind: sentences in which "it" may refer to either of two nouns.
_AMBIGUOUS_PRONOUN_WEIGHT = 100 - sum(template.weight for template in _TEMPLATES)

_WEIGHTED_TEMPLATES = tuple(template for template in _TEMPLATES for _ in range(template.weight))


def sample_pairs(rng: Rng) -> Iterator[Pair]:
    """Yield sentence pairs of every kind, whatever split they belong to."""
    while True:
        if rng.bernoulli(_AMBIGUOUS_PRONOUN_WEIGHT / 100):
            yield _sample_ambiguous_pronoun_pair(rng)
        else:
            template = rng.choice(_WEIGHTED_TEMPLATES)
            yield template.sample(rng, Draft(template.kind))


def sample_ambiguous_pronoun_pairs(rng: Rng) -> Iterator[Pair]:
    """Yield sentence pairs in which "it" may refer to either of two nouns, whatever split they belong to."""
    while True:
        yield _sample_ambiguous_pronoun_pair(rng)


def _sample_ambiguous_pronoun_pair(rng: Rng) -> Pair:
    return coreference.scene_pair(coreference.sample_scene(rng), "x" if rng.bernoulli(0.5) else "y")


def sample_minimal_pairs(rng: Rng, frames: Sequence[coreference.Frame] = ()) -> Iterator[tuple[Pair, Pair]]:
    """Yield minimal pairs (see `minimal_pairs`) of these frames or of all, whatever split they belong to.

    Which of the two sentences comes first is random.
    """
    while True:
        scene = coreference.sample_scene(rng, ("mf", "fm"), rng.choice(frames) if frames else None)
        first, second = coreference.scene_pair(scene, "x"), coreference.scene_pair(scene, "y")
        yield (first, second) if rng.bernoulli(0.5) else (second, first)


def pairs(seed: int, split: str = "train") -> Iterator[Pair]:
    """Return an endless stream of sentence pairs of a split. The seed determines the stream; short pairs may repeat."""
    _check(split)
    return (pair for pair in sample_pairs(Rng(seed, f"pairs/{split}")) if split_of(pair) == split)


def ambiguous_pronoun_pairs(seed: int, split: str = "train") -> Iterator[Pair]:
    """Return an endless stream of sentence pairs of a split in which "it" may refer to either of two nouns."""
    _check(split)
    return (pair for pair in sample_ambiguous_pronoun_pairs(Rng(seed, f"it/{split}")) if split_of(pair) == split)


def minimal_pairs(seed: int, split: str = "test") -> Iterator[tuple[Pair, Pair]]:
    """Return an endless stream of minimal pairs of a split: two English sentences that differ in one adjective only.

    This adjective, the cue, makes "it" refer to one noun in the first sentence and to another noun in the second. The
    two nouns differ in gender, so the French pronouns differ too. Each sentence comes with its translation.
    """
    _check(split)
    sampled = sample_minimal_pairs(Rng(seed, f"flips/{split}"))  # "flips" is part of the seed; do not rename it
    return ((first, second) for first, second in sampled if split_of(first) == split == split_of(second))


def balanced_minimal_pairs(seed: int, split: str = "test") -> Iterator[tuple[Pair, Pair]]:
    """Return an endless stream of minimal pairs that takes every relation between the two nouns in turn.

    Sentences of one relation resemble each other, so statistics over relations need equally many of each.
    """
    _check(split)
    by_name: dict[str, list[coreference.Frame]] = {}
    for frame in (*coreference.frames(True), *coreference.frames(False)):
        by_name.setdefault(frame.name, []).append(frame)
    streams = [
        sample_minimal_pairs(Rng(seed, f"balanced/{split}/{name}"), frames) for name, frames in sorted(by_name.items())
    ]
    for stream in cycle(streams):
        yield next((first, second) for first, second in stream if split_of(first) == split == split_of(second))


def _check(split: str) -> None:
    if split not in SPLITS:
        raise UserError(f"the synthetic language has no split {split!r}; choose one of {', '.join(SPLITS)}")
