"""The pronoun experiment: does attention resolve "it", and does the French pronoun depend on that attention?

The two sentences of a minimal pair differ in one word, the cue, which decides what "it" refers to: "… because it was
too tired", "… too wide". The antecedent is the noun that "it" refers to, and the distractor is the other noun. An
antecedent head gives the antecedent more weight than the distractor in both sentences; a head with random preferences
does so in a quarter of the pairs. Heads are chosen on one half of the pairs, and the results are measured on the other
half.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.data.synthetic import FAMOUS, Pair
from regard.interpret.address import check_has_heads, locate_head
from regard.interpret.annotated_pairs import SEED, AnnotatedPair, unannotated_pair
from regard.interpret.interventions import ForcedAttention, HeadIntervention, without_positions
from regard.interpret.measure.pronoun_baselines import PronounAccuracy, baselines, pronoun_accuracy
from regard.interpret.measure.pronoun_task import PronounContrast, PronounTask, contrast
from regard.interpret.teacher_forcing import Batch, MakeIntervention, attention_weights
from regard.interpret.trace import Array
from regard.models.build import build_untrained
from regard.progress import Progress, Work
from regard.statistics.estimate import Estimate
from regard.statistics.intervals import mean, proportion
from regard.statistics.multiplicity import significance_threshold
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.word_spans import WordSpan

if TYPE_CHECKING:
    from regard.models.interface import AutoregressiveModel

CHANCE_LEVEL = 0.25  # probability that a head with random preferences prefers the antecedent in both sentences

MAX_HEADS = 4  # the maximum number of heads that are ablated or forced together; the best are chosen

# The words whose attention to the two nouns is measured, and the kind of attention that is used for each word.
QUERIES = {"it": ("source", "source"), "cue": ("source", "source"), "pronoun": ("target", "source")}

ABLATED = "removed"
CONTROL = "as many other heads removed"
FORCED_TO_DISTRACTOR = "forced to the distractor"
FORCED_TO_ANTECEDENT = "forced to the antecedent"

_PRONOUN = re.compile(r"\b(ils?|elles?)\b", re.IGNORECASE)

QueryHead = tuple[str, str]  # a key of QUERIES and the address of a head

MinimalPair = tuple[PronounContrast, PronounContrast]


@dataclass(frozen=True)
class AntecedentHead:
    """How a head attends from a query to the antecedent and the distractor, on the held-out half of the pairs."""

    query: str
    head: str
    pair_accuracy: Estimate  # the proportion of pairs in which the head prefers the antecedent in both sentences
    reversed: float  # the proportion of pairs in which the head prefers the distractor in both sentences
    accuracy: float  # the proportion of sentences in which the head prefers the antecedent
    antecedent_weight: float  # the mean attention weight on the antecedent
    distractor_weight: float  # the mean attention weight on the distractor


@dataclass(frozen=True)
class Intervention:
    """The pronoun accuracy under an intervention on some heads, and how much the intervention changes it."""

    name: str
    heads: tuple[str, ...]
    accuracy: Estimate
    change: Estimate


@dataclass(frozen=True)
class PronounExperiment:
    """The results of the pronoun experiment with one model, and the conclusion from them."""

    pairs: int
    tests: int  # the number of tested combinations of a query and a head
    threshold: tuple[int, int]  # how many pairs a head must get right to be significant, and out of how many
    antecedent_heads: tuple[AntecedentHead, ...]  # the significant heads, best first; if there are none, the best head
    significant: bool
    untrained: float  # the largest pair accuracy of any head of an untrained model of the same architecture
    translation_pair_accuracy: Estimate  # the proportion of pairs with the correct pronoun in both translations
    baselines: tuple[PronounAccuracy, ...]  # first the model itself, then the model without positions, if it has any
    interventions: tuple[Intervention, ...]
    # The best encoder head among the significant heads, or None if all of these are in the decoder. If no head is
    # significant, the best encoder head of all.
    best_encoder_head: QueryHead | None
    famous: tuple[str, ...]  # lines about the attention in the two famous sentences

    @property
    def accuracy(self) -> Estimate:
        """The proportion of sentences in which the model prefers the correct pronoun."""
        return self.baselines[0].accuracy

    @property
    def verdict(self) -> str:
        """The conclusion that the results support."""
        if self.accuracy.low <= 0.5:
            return (
                f"This model does not know what “it” refers to: it prefers the correct pronoun in "
                f"{self.accuracy.value:.0%} of sentences, and chance is 50%. There is nothing for "
                "attention to explain."
            )
        if not self.significant:
            return (
                f"The model prefers the correct pronoun in {self.accuracy.value:.0%} of sentences, but no head prefers "
                "the antecedent more often than chance allows. No single head explains the pronoun in this model."
            )
        forced = self._intervention(FORCED_TO_DISTRACTOR)
        several = len(forced.heads) > 1
        follow = f"{len(forced.heads)} head{'s follow' if several else ' follows'} the cue"
        attention, without = ("their attention", "without them") if several else ("its attention", "without it")
        before = forced.accuracy.value - forced.change.value
        if forced.change.high < 0:
            return (
                f"{follow}, and the pronoun depends on {attention}: forced to the distractor, pronoun accuracy falls "
                f"from {before:.0%} to {forced.accuracy.value:.0%}; {without}, it is "
                f"{self._intervention(ABLATED).accuracy.value:.0%}."
            )
        return (
            f"{follow}, but the pronoun does not depend on {attention}: forced to the distractor, pronoun accuracy "
            f"goes from {before:.0%} to {forced.accuracy.value:.0%}, which may be chance. That a head attends to a "
            "word does not mean that the model uses it."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-compatible values."""
        return {**asdict(self), "verdict": self.verdict}

    def _intervention(self, name: str) -> Intervention:
        return next(intervention for intervention in self.interventions if intervention.name == name)


def run_pronoun_experiment(
    model: "AutoregressiveModel",
    tokenizer: SentencePieceTokenizer,
    pairs: Sequence[tuple[Pair, Pair]],
    translate: Callable[[Sequence[str]], Iterable[str]],
) -> Work[PronounExperiment]:
    """Find antecedent heads, then intervene on them. `translate` is the usual translation function of the model."""
    check_has_heads(model.anatomy())
    minimal_pairs = [(contrast(first, tokenizer), contrast(second, tokenizer)) for first, second in pairs]
    weights = yield from _noun_weights(model, minimal_pairs, "recording attention")
    untrained = yield from _noun_weights(build_untrained(model), minimal_pairs, "recording an untrained model")
    selection, test = slice(0, None, 2), slice(1, None, 2)
    half = len(minimal_pairs[selection])
    threshold = significance_threshold(half, CHANCE_LEVEL, len(weights))
    hits = {candidate: _pair_hits(table)[selection].sum() for candidate, table in weights.items()}
    ranked = sorted(hits, key=lambda candidate: -hits[candidate])
    significant = _best_query_of_each_head([candidate for candidate in ranked if hits[candidate] >= threshold])
    chosen = significant or ranked[:1]
    heads = [_antecedent_head(candidate, weights[candidate][test], len(weights)) for candidate in chosen]
    yield Progress("translating", 0, 1)
    translated = pronouns_correct(pairs, translate)
    yield Progress("running the baselines", 0, 1)
    accuracies = _pronoun_accuracies(model, minimal_pairs, pairs)
    interventions = yield from _Interventions(model, minimal_pairs[test]).run(chosen, model)
    in_encoder = (query_head for query_head in significant or ranked if QUERIES[query_head[0]] == ("source", "source"))
    best_encoder_head = next(in_encoder, None)
    return PronounExperiment(
        len(pairs),
        len(weights),
        (threshold, half),
        tuple(heads),
        bool(significant),
        max(float(_pair_hits(table).mean()) for table in untrained.values()),
        _proportion(translated),
        accuracies,
        tuple(interventions),
        best_encoder_head,
        _famous_lines(model, tokenizer, best_encoder_head),
    )


def _pronoun_accuracies(
    model: "AutoregressiveModel", minimal_pairs: Sequence[MinimalPair], pairs: Sequence[tuple[Pair, Pair]]
) -> tuple[PronounAccuracy, ...]:
    """Return the pronoun accuracy of the model and of the baselines, on all pairs.

    A model with a positional encoding is also measured without it.
    """
    contrasts = [sentence for both in minimal_pairs for sentence in both]
    models = {"this model": model}
    if model.positions is not None:
        models["this model without positions"] = without_positions(model)
    scored = [pronoun_accuracy(name, PronounTask(each, contrasts).preference() > 0) for name, each in models.items()]
    return (*scored, *baselines(pairs))


def _proportion(pairs: Array, tests: int = 1) -> Estimate:
    """Return the mean of an array that has a value from 0 to 1 for each pair, with a confidence interval."""
    estimate = proportion(pairs, np.ones(len(pairs)), tests=tests)
    assert estimate is not None
    return estimate


def _noun_weights(
    model: "AutoregressiveModel", minimal_pairs: Sequence[MinimalPair], stage: str
) -> Work[dict[QueryHead, Array]]:
    """Return, for each query and head, the attention weights on the two nouns, with the shape (pairs, 2, 2).

    The second axis is the sentence of the pair; the third is the noun, first the antecedent and then the distractor.
    """
    contrasts = [sentence for both in minimal_pairs for sentence in both]
    sentences = [each.correct for each in contrasts]
    tables = {
        (query, head): np.zeros((len(sentences), 2))
        for attention in model.anatomy().attentions
        for query, sides in QUERIES.items()
        for head in attention.head_addresses
        if sides == (attention.queries, attention.keys)
    }
    for done, (number, weights) in enumerate(attention_weights(model, sentences), start=1):
        nouns, rows = noun_columns(sentences[number]), query_rows(contrasts[number], sentences[number])
        for (query, address), table in tables.items():
            attention, head = locate_head(address)
            row_M = weights[attention][head, rows[query].start : rows[query].stop].mean(axis=0)
            table[number] = [row_M[noun.start : noun.stop].sum() for noun in nouns]
        yield Progress(stage, done, len(sentences))
    return {query_head: table.reshape(len(minimal_pairs), 2, 2) for query_head, table in tables.items()}


def noun_columns(pair: AnnotatedPair) -> tuple[range, range]:
    """Return the positions of the tokens of the antecedent, and those of the distractor."""
    it = pair.annotations.coreference if pair.annotations else None
    assert it is not None and it.distractor is not None
    antecedent, distractor = pair.source_words[it.antecedent], pair.source_words[it.distractor]
    return range(antecedent.begin, antecedent.end), range(distractor.begin, distractor.end)


def query_rows(sentence: PronounContrast, pair: AnnotatedPair) -> dict[str, range]:
    """Return the token positions of each query.

    The positions of the pronoun depend on whether the target of `pair` ends with the correct or the incorrect pronoun.
    """
    it = pair.annotations.coreference if pair.annotations else None
    assert it is not None and it.cue is not None
    words = pair.source_words
    return {
        "it": range(words[it.at].begin, words[it.at].end),
        "cue": range(words[it.cue].begin, words[it.cue].end),
        "pronoun": range(sentence.begin, len(pair.target_ids) - 1),
    }


def _pair_hits(weights: Array) -> Array:
    """Return, for each pair, whether the antecedent has more weight than the distractor in both sentences."""
    return np.asarray((weights[:, :, 0] > weights[:, :, 1]).all(axis=1))


def _best_query_of_each_head(ranked: Sequence[QueryHead]) -> list[QueryHead]:
    """Return at most `MAX_HEADS` heads of a ranking, best first. Each head occurs once, with its best query."""
    best: dict[str, QueryHead] = {}
    for query_head in ranked:
        best.setdefault(query_head[1], query_head)
    return list(best.values())[:MAX_HEADS]


def _antecedent_head(query_head: QueryHead, weights: Array, tests: int) -> AntecedentHead:
    antecedent, distractor = weights[:, :, 0], weights[:, :, 1]
    return AntecedentHead(
        *query_head,
        _proportion(_pair_hits(weights), tests),
        float((antecedent < distractor).all(axis=1).mean()),
        float((antecedent > distractor).mean()),
        float(antecedent.mean()),
        float(distractor.mean()),
    )


def pronouns_correct(pairs: Sequence[tuple[Pair, Pair]], translate: Callable[[Sequence[str]], Iterable[str]]) -> Array:
    """Return, for each pair, whether both translations have the correct pronoun."""
    sentences = [sentence for both in pairs for sentence in both]
    written = [_last_pronoun(text) for text in translate([sentence.source for sentence in sentences])]
    expected = [_last_pronoun(sentence.target) for sentence in sentences]
    correct = np.array([pronoun == reference for pronoun, reference in zip(written, expected, strict=True)])
    return np.asarray(correct.reshape(-1, 2).all(axis=1).astype(float))


def _last_pronoun(text: str) -> str | None:
    """Return the last pronoun of a French text. It is the translation of "it", which is in the last clause."""
    pronouns = _PRONOUN.findall(text)
    return pronouns[-1].lower() if pronouns else None


class _Interventions:
    """Measures the pronoun accuracy under interventions on heads."""

    def __init__(self, model: "AutoregressiveModel", minimal_pairs: Sequence[MinimalPair]) -> None:
        self.task = PronounTask(model, [sentence for both in minimal_pairs for sentence in both])
        self._accuracy = self._pair_accuracy(None)

    def run(self, chosen: Sequence[QueryHead], model: "AutoregressiveModel") -> Work[list[Intervention]]:
        heads = tuple(head for _, head in chosen)
        control = _control_heads(heads, model)
        planned: list[tuple[str, tuple[str, ...], MakeIntervention]] = [
            (ABLATED, heads, lambda _: HeadIntervention(heads)),
            (CONTROL, control, lambda _: HeadIntervention(control)),
            (FORCED_TO_DISTRACTOR, heads, lambda batch: self.forced_attention(batch, chosen, 1)),
            (FORCED_TO_ANTECEDENT, heads, lambda batch: self.forced_attention(batch, chosen, 0)),
        ]
        # A model with a single head has no other head to remove.
        planned = [one for one in planned if one[1]]
        results = []
        for done, (name, changed, make_intervention) in enumerate(planned, start=1):
            accuracy = self._pair_accuracy(make_intervention)
            results.append(Intervention(name, changed, _proportion(accuracy), mean(accuracy - self._accuracy)))
            yield Progress("running the interventions", done, len(planned))
        return results

    def _pair_accuracy(self, make_intervention: MakeIntervention | None) -> Array:
        """Return, for each pair, the proportion of its two sentences in which the correct pronoun is more probable."""
        return np.asarray((self.task.preference(make_intervention) > 0).reshape(-1, 2).mean(axis=1))

    def forced_attention(self, batch: Batch, chosen: Sequence[QueryHead], noun: int) -> ForcedAttention:
        """Return an intervention that forces the query of each head to attend only to one noun.

        The noun is the antecedent (0) or the distractor (1).
        """
        spans = {}
        for query, head in chosen:
            each = [(self.task.contrasts[number // 2], self.task.pairs[number]) for number in batch.indices]
            spans[head] = [(query_rows(sentence, pair)[query], noun_columns(pair)[noun]) for sentence, pair in each]
        return ForcedAttention(spans)


def _control_heads(heads: Sequence[str], model: "AutoregressiveModel") -> tuple[str, ...]:
    """Sample one other head as a control for each of `heads`, with a fixed seed.

    The control of a head is in the same attention sublayer if possible, otherwise in another sublayer of the same kind.
    """
    kinds = {head: attention.kind for attention in model.anatomy().attentions for head in attention.head_addresses}
    generator = np.random.default_rng(SEED)
    control: list[str] = []
    for head in heads:
        attention, _ = locate_head(head)
        free = [each for each in kinds if each not in heads and each not in control]
        same_attention = [each for each in free if locate_head(each)[0] == attention]
        same_kind = [each for each in free if kinds[each] == kinds[head]]
        if same_attention or same_kind:
            control.append(str(generator.choice(same_attention or same_kind)))
    return tuple(control)


def famous_word(query: str, words: Sequence[WordSpan]) -> WordSpan:
    """Return the word "it" or the cue ("tired" or "wide") of a famous sentence.

    The returned cue may include the full stop, because one token may contain both.
    """
    texts = ("it",) if query == "it" else ("tired", "wide")
    return next(word for word in words if word.text.rstrip(".") in texts)


def _famous_lines(
    model: "AutoregressiveModel", tokenizer: SentencePieceTokenizer, query_head: QueryHead | None
) -> tuple[str, ...]:
    """Describe the attention of a head to the two nouns of the two famous sentences.

    The last line gives the probability that, by chance alone, at least one head attends to the animal most.
    """
    if query_head is None:
        return ()
    query, address = query_head
    attention, head = locate_head(address)
    lines = []
    pairs = [unannotated_pair(*pair, tokenizer) for pair in FAMOUS[:2]]
    for number, weights in sorted(attention_weights(model, pairs)):
        words = {word.text: word for word in pairs[number].source_words}
        word = famous_word(query, pairs[number].source_words)
        row_M = weights[attention][head, word.begin : word.end].mean(axis=0)
        nouns = [f"{noun} {row_M[words[noun].begin : words[noun].end].sum():.2f}" for noun in ("animal", "street")]
        lines.append(f"{pairs[number].source} {address}: {word.text} → {', '.join(nouns)}")
    heads = sum(one.heads for one in model.anatomy().attentions if (one.queries, one.keys) == QUERIES[query])
    probability = 1 - (1 - 1 / len(words)) ** heads
    return (
        *lines,
        f"At least one of {heads} heads would attend most to the animal by chance alone with probability "
        f"{probability:.2f}.",
    )
