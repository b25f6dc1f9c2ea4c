"""The "it" laboratory: does attention tell what "it" stands for, and does the French pronoun depend on that?

Two sentences differ in one word, which decides what "it" is: "… because it was too tired", "… too wide". A head moves
if it prefers the right noun in both; one that looks by chance does so in a quarter of the pairs. Heads are chosen on
one half of the pairs, and the figures are of the other half.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regard.data.synthetic import FAMOUS, Pair
from regard.interpret.address import attention_addresses, head_addresses, kind_of
from regard.interpret.annotated_pairs import SEED, AnnotatedPair, text_item
from regard.interpret.interventions import ForcedAttention, HeadIntervention, without_positions
from regard.interpret.measure.pronoun_baselines import PronounAccuracy, baselines, pronoun_accuracy
from regard.interpret.measure.pronoun_task import PronounContrast, PronounTask, contrast
from regard.interpret.teacher_forcing import Batch, attention_weights
from regard.interpret.trace import Array
from regard.models.build import build_untrained
from regard.progress import Progress, Work
from regard.statistics.intervals import Estimate, mean, proportion
from regard.statistics.multiplicity import significance_threshold
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.word_spans import WordSpan

if TYPE_CHECKING:
    from regard.models.kinds.transformer import Transformer

CHANCE = 0.25

MOST = 4  # heads that are removed or forced together

PLACES = {"it": "encoder.self", "decider": "encoder.self", "pronoun": "decoder.cross"}

SAID = {"it": "from “it”", "decider": "from the deciding word", "pronoun": "about to write the pronoun"}

_PRONOUN = re.compile(r"\b(ils?|elles?)\b", re.IGNORECASE)

Test = tuple[str, str]  # a place that looks, and a head

MinimalPair = tuple[PronounContrast, PronounContrast]


@dataclass(frozen=True)
class AntecedentHead:
    """What a head does at a place, on the half of the pairs it was not chosen on."""

    place: str
    head: str
    moves: Estimate  # the share of pairs in which it prefers the right noun both times
    reversed: float  # the share in which it prefers the wrong noun both times
    right: float  # the share of sentences in which it prefers the right noun
    antecedent: float  # the mean weight on the right noun
    distractor: float  # and on the other


@dataclass(frozen=True)
class Intervention:
    """The pronouns after a change to some heads: the share that is right, and by how much that changed."""

    name: str
    heads: tuple[str, ...]
    right: Estimate
    change: Estimate


@dataclass(frozen=True)
class PronounExperiment:
    """All that was found, and what it means."""

    pairs: int
    tests: int
    threshold: tuple[int, int]  # of so many pairs a head must move in so many
    antecedent_heads: tuple[AntecedentHead, ...]  # those beyond the threshold, best first; else the best one alone
    beyond: bool
    untrained: float  # the largest share of moves of a head of the same architecture that learnt nothing
    follows: Estimate  # the share of pairs with the right pronoun in both translations
    baselines: tuple[PronounAccuracy, ...]  # the pronouns of this model, forced up to them, and of those who know less
    interventions: tuple[Intervention, ...]
    looks: Test | None  # from "it" or the deciding word, the best head, if any is among the best
    famous: tuple[str, ...]

    @property
    def right(self) -> Estimate:
        """The share of sentences whose right pronoun is the likelier one."""
        return self.baselines[0].right

    @property
    def verdict(self) -> str:
        """What may be said."""
        if self.right.low <= 0.5:
            return (
                f"This model does not know what “it” stands for: it prefers the right pronoun in "
                f"{self.right.value:.0%} of sentences, and guessing gives 50%. There is nothing for attention to tell."
            )
        if not self.beyond:
            return (
                f"The pronoun is right in {self.right.value:.0%} of sentences, but no head moves more often than "
                "chance allows. The weights of single heads do not carry it in this model."
            )
        forced = next(one for one in self.interventions if one.name == "forced to the other noun")
        removed = next(one for one in self.interventions if one.name == "removed")
        many = len(forced.heads) > 1
        what = f"{len(forced.heads)} head{'s move' if many else ' moves'} with the deciding word"
        where, them = ("where they look", "them") if many else ("where it looks", "it")
        before = forced.right.value - forced.change.value
        if forced.change.high < 0:
            return (
                f"{what}, and the pronoun depends on {where}: forced to the other noun, right pronouns fall "
                f"from {before:.0%} to {forced.right.value:.0%}; without {them}, to {removed.right.value:.0%}."
            )
        return (
            f"{what}, but the pronoun does not depend on {where}: forced to the other noun, right pronouns go "
            f"from {before:.0%} to {forced.right.value:.0%}, which may be chance. Attending is not using."
        )


def run_pronoun_experiment(
    model: "Transformer",
    tokenizer: SentencePieceTokenizer,
    pairs: Sequence[tuple[Pair, Pair]],
    translate: Callable[[Sequence[str]], Iterable[str]],
) -> Work[PronounExperiment]:
    """Watch, then meddle. `translate` is how users translate."""
    flips = [(contrast(first, tokenizer), contrast(second, tokenizer)) for first, second in pairs]
    watched = yield from _watched(model, flips, "watching heads")
    blank = yield from _watched(build_untrained(model), flips, "watching them untrained")
    chosen_on, told_of = slice(0, None, 2), slice(1, None, 2)
    half = len(flips[chosen_on])
    least = significance_threshold(half, CHANCE, len(watched))
    moves = {test: _moves(weights)[chosen_on].sum() for test, weights in watched.items()}
    best = sorted(moves, key=lambda test: -moves[test])
    chosen = _distinct([test for test in best if moves[test] >= least])
    movers = [_mover(test, watched[test][told_of], len(watched)) for test in chosen or best[:1]]
    yield Progress("translating", 0, 1)
    follows = pronouns_right(pairs, translate)
    yield Progress("asking those who know less", 0, 1)
    guesses = _guesses(model, flips, pairs)
    bench = _Interventions(model, flips[told_of])
    looks = next((test for test in chosen or best if PLACES[test[0]] == "encoder.self"), None)
    return PronounExperiment(
        len(pairs),
        len(watched),
        (least, half),
        tuple(movers),
        bool(chosen),
        max(float(_moves(weights).mean()) for weights in blank.values()),
        _share(follows),
        guesses,
        tuple((yield from bench.interventions(chosen or best[:1], model))),
        looks,
        _famous(model, tokenizer, looks),
    )


def _guesses(
    model: "Transformer", flips: Sequence[MinimalPair], pairs: Sequence[tuple[Pair, Pair]]
) -> tuple[PronounAccuracy, ...]:
    """This model, the same without positions, and the baselines, on all pairs."""
    contrasts = [one for both in flips for one in both]
    models = {"this model": model, "this model without positions": without_positions(model)}
    asked = [pronoun_accuracy(name, PronounTask(one, contrasts).preference() > 0) for name, one in models.items()]
    return (*asked, *baselines(pairs))


def _share(pairs: Array, tests: int = 1) -> Estimate:
    """The share of right ones, of pairs of which each has a share."""
    found = proportion(pairs, np.ones(len(pairs)), tests=tests)
    assert found is not None
    return found


def _watched(model: "Transformer", flips: Sequence[MinimalPair], stage: str) -> Work[dict[Test, Array]]:
    """For each place and head, the weights (pairs, both sentences, right noun and other)."""
    contrasts = [one for both in flips for one in both]
    items = [one.right for one in contrasts]
    found = {
        (place, f"{attention}.{head + 1}"): np.zeros((len(items), 2))
        for attention in attention_addresses(model.settings)
        for place, kind in PLACES.items()
        for head in range(model.settings.heads)
        if kind == kind_of(attention)
    }
    for done, (at, weights) in enumerate(attention_weights(model, items), start=1):
        nouns, places = nouns_of(items[at]), rows_of(contrasts[at], items[at])
        for (place, address), table in found.items():
            attention, _, head = address.rpartition(".")
            rows = places[place]
            row_M = weights[attention][int(head) - 1, rows.start : rows.stop].mean(axis=0)
            table[at] = [row_M[noun.start : noun.stop].sum() for noun in nouns]
        yield Progress(stage, done, len(items))
    return {test: table.reshape(len(flips), 2, 2) for test, table in found.items()}


def nouns_of(item: AnnotatedPair) -> tuple[range, range]:
    """The pieces of the noun that "it" stands for, and of the other."""
    assert item.annotations is not None and item.annotations.it is not None and item.annotations.it.other is not None
    words = [item.source_words[at] for at in (item.annotations.it.antecedent, item.annotations.it.other)]
    return range(words[0].begin, words[0].end), range(words[1].begin, words[1].end)


def rows_of(one: PronounContrast, item: AnnotatedPair) -> dict[str, range]:
    """Which rows look, at each place; those of the pronoun also depend on which of the two is written."""
    it = item.annotations.it if item.annotations else None
    assert it is not None and it.decider is not None
    words = item.source_words
    return {
        "it": range(words[it.at].begin, words[it.at].end),
        "decider": range(words[it.decider].begin, words[it.decider].end),
        "pronoun": range(one.begin, len(item.written_ids) - 1),
    }


def _moves(weights: Array) -> Array:
    """For each pair, whether the right noun has more weight both times."""
    return np.asarray((weights[:, :, 0] > weights[:, :, 1]).all(axis=1))


def _distinct(tests: Sequence[Test]) -> list[Test]:
    """The best place of each head, and of the best heads so many as are meddled with."""
    seen: dict[str, Test] = {}
    for test in tests:
        seen.setdefault(test[1], test)
    return list(seen.values())[:MOST]


def _mover(test: Test, weights: Array, tests: int) -> AntecedentHead:
    moves = _moves(weights)
    right = weights[:, :, 0] > weights[:, :, 1]
    return AntecedentHead(
        *test,
        _share(moves, tests),
        float((weights[:, :, 0] < weights[:, :, 1]).all(axis=1).mean()),
        float(right.mean()),
        float(weights[:, :, 0].mean()),
        float(weights[:, :, 1].mean()),
    )


def pronouns_right(pairs: Sequence[tuple[Pair, Pair]], translate: Callable[[Sequence[str]], Iterable[str]]) -> Array:
    """For each pair, whether both translations have the right pronoun."""
    texts = [pair for both in pairs for pair in both]
    written = [_pronoun(text) for text in translate([pair.source for pair in texts])]
    wanted = [_pronoun(pair.target) for pair in texts]
    right = np.array([one == other for one, other in zip(written, wanted, strict=True)])
    return np.asarray(right.reshape(-1, 2).all(axis=1).astype(float))


def _pronoun(text: str) -> str | None:
    """The last pronoun of a French text: "it" is in the last clause."""
    found = _PRONOUN.findall(text)
    return found[-1].lower() if found else None


class _Interventions:
    """What the pronouns become when heads are changed."""

    def __init__(self, model: "Transformer", flips: Sequence[MinimalPair]) -> None:
        self._pronouns = PronounTask(model, [one for both in flips for one in both])
        self.right = self._rightness(None)

    def interventions(self, tests: Sequence[Test], model: "Transformer") -> Work[list[Intervention]]:
        heads = tuple(head for _, head in tests)
        others = _others(heads, model)
        edits: list[tuple[str, tuple[str, ...], Callable[[Batch], HeadIntervention]]] = [
            ("removed", heads, lambda _: HeadIntervention(heads)),
            ("as many others removed", others, lambda _: HeadIntervention(others)),
            ("forced to the other noun", heads, lambda batch: self._forced(batch, tests, 1)),
            ("forced to the right noun", heads, lambda batch: self._forced(batch, tests, 0)),
        ]
        found = []
        for done, (name, changed, edit) in enumerate(edits, start=1):
            right = self._rightness(edit)
            found.append(Intervention(name, changed, _share(right), mean(right - self.right)))
            yield Progress("meddling", done, len(edits))
        return found

    def _rightness(self, edit: Callable[[Batch], HeadIntervention] | None) -> Array:
        """For each pair the share of its two sentences in which the right pronoun is likelier."""
        return np.asarray((self._pronouns.preference(edit) > 0).reshape(-1, 2).mean(axis=1))

    def _forced(self, batch: Batch, tests: Sequence[Test], noun: int) -> ForcedAttention:
        looks = {}
        for place, head in tests:
            each = [(self._pronouns.contrasts[at // 2], self._pronouns.items[at]) for at in batch.indices]
            looks[head] = [(rows_of(one, item)[place], nouns_of(item)[noun]) for one, item in each]
        return ForcedAttention(looks)


def _others(heads: Sequence[str], model: "Transformer") -> tuple[str, ...]:
    """As many other heads of the same attentions where there are, else of the same kinds; always the same ones."""
    every = head_addresses(model.settings)
    chance = np.random.default_rng(SEED)
    chosen: list[str] = []
    for head in heads:
        attention = head.rpartition(".")[0]
        free = [one for one in every if one not in heads and one not in chosen]
        near = [one for one in free if one.rpartition(".")[0] == attention]
        alike = [one for one in free if kind_of(one.rpartition(".")[0]) == kind_of(attention)]
        if near or alike:
            chosen.append(str(chance.choice(near or alike)))
    return tuple(chosen)


def famous_word(place: str, words: Sequence[WordSpan]) -> WordSpan:
    """Who looks in the famous two sentences: "it", or what decides, which a piece may tie to the full stop."""
    wanted = ("it",) if place == "it" else ("tired", "wide")
    return next(word for word in words if word.text.rstrip(".") in wanted)


def _famous(model: "Transformer", tokenizer: SentencePieceTokenizer, looks: Test | None) -> tuple[str, ...]:
    """The sentence everybody shows, through the best head, and what such a picture is worth."""
    if looks is None:
        return ()
    place, head = looks
    attention, _, number = head.rpartition(".")
    lines = []
    items = [text_item(*pair, tokenizer) for pair in FAMOUS[:2]]
    for at, weights in sorted(attention_weights(model, items)):
        words = {word.text: word for word in items[at].source_words}
        who = famous_word(place, items[at].source_words)
        row_M = weights[attention][int(number) - 1, who.begin : who.end].mean(axis=0)
        seen = [f"{noun} {row_M[words[noun].begin : words[noun].end].sum():.2f}" for noun in ("animal", "street")]
        lines.append(f"{items[at].source} {head}: {who.text} → {', '.join(seen)}")
    encoder = model.settings.encoder_layers * model.settings.heads
    chance = 1 - (1 - 1 / len(words)) ** encoder
    return (
        *lines,
        f"Some head of {encoder} would look at the animal most by chance alone with probability {chance:.2f}.",
    )
