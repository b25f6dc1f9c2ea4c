"""What each layer of the encoder knows: a linear probe reads a property of a word, or of two, off its vectors.

A probe that is right may have learnt the task itself. So each is compared with three others: one that always says the
commonest answer; one on the same architecture untrained; and one whose labels were dealt out at random to words, which
can only be learnt by heart (a control task; Hewitt and Liang, 2019). Layer 0 is embedding and position.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from regard.data.language.words import nouns
from regard.data.texts import Preparing, Work
from regard.evaluation.intervals import Figure, share
from regard.inside.heads import FEW, untrained
from regard.inside.passes import vectors_of
from regard.inside.sample import Item, Sample
from regard.inside.trace import Array

if TYPE_CHECKING:
    from regard.model.transformer import Transformer

SMALL_LIFT = 0.02  # below which nothing is said about where a property arises
MOST_PLACES = 12
CATEGORIES = ("person", "animal", "vehicle", "building", "food", "furniture", "wearable", "event", "container", "way")
UNTESTED = "discourse, world knowledge, and what the decoder's layers know"
_STEPS = 60
_DECAY = 1e-3


@dataclass(frozen=True)
class Case:
    """The words a probe reads (one, two, or all of a sentence), the right answer, and what a control goes by."""

    words: tuple[int, ...]
    label: str
    type: str


@dataclass(frozen=True)
class Probed:
    """A property, and how often it is read rightly off each layer, from layer 0 on."""

    task: str
    layers: tuple[Figure, ...]
    control: tuple[float, ...]
    untrained: tuple[float, ...]
    commonest: float
    labels: int

    @property
    def expected_layer(self) -> float | None:
        """Where the gain arises: the mean layer, each by what it adds to the best before; None if it is too little."""
        best = np.maximum.accumulate([one.value for one in self.layers])
        gains = np.diff(best)
        certain = max(one.low for one in self.layers) > self.layers[0].value
        if gains.sum() < SMALL_LIFT or not certain:
            return None
        return float((np.arange(1, len(best)) * gains).sum() / gains.sum())


def measure_layers(model: "Transformer", sample: Sample) -> Work[tuple[Probed, ...]]:
    """Every property off every layer."""
    vectors = vectors_of(model, sample.items)
    blank = vectors_of(untrained(model), sample.items)
    found = []
    for done, (task, ask) in enumerate(TASKS.items()):
        yield Preparing(f"probing for {task}", done, len(TASKS))
        cases = [(at, case) for at, item in enumerate(sample.items) for case in ask(item)]
        if len(cases) >= 2 * FEW and len({case.label for _, case in cases}) > 1:
            found.append(_probed(task, cases, sample, vectors, blank, model.settings.encoder_layers + 1))
    return tuple(found)


def _probed(
    task: str,
    cases: Sequence[tuple[int, Case]],
    sample: Sample,
    vectors: Sequence[Array],
    blank: Sequence[Array],
    layers: int,
) -> Probed:
    names = sorted({case.label for _, case in cases})
    right = np.array([names.index(case.label) for _, case in cases])
    dealt = np.array([right[crc32(case.type.encode()) % len(right)] for _, case in cases])
    # Sentences are learnt from or tested on, never both.
    test = np.array([at % 3 == 2 for at, _ in cases])
    sentence = np.array([at for at, _ in cases])[test]
    figures, control, untaught = [], [], []
    for layer in range(layers):
        features = np.stack([_features(vectors[at][layer], sample.items[at], case) for at, case in cases])
        empty = np.stack([_features(blank[at][layer], sample.items[at], case) for at, case in cases])
        figures.append(_figure(probe(features, right, test, len(names)), sentence))
        control.append(float(probe(features, dealt, test, len(names)).mean()))
        untaught.append(float(probe(empty, right, test, len(names)).mean()))
    commonest = Counter(right[~test].tolist()).most_common(1)[0][0]
    return Probed(
        task, tuple(figures), tuple(control), tuple(untaught), float((right[test] == commonest).mean()), len(names)
    )


def _features(vectors_SD: Array, item: Item, case: Case) -> Array:
    """The mean of a word's pieces; of two words both, and their product; of a whole sentence the mean."""
    spans = [item.source_words[at] for at in case.words]
    each = [vectors_SD[word.begin : word.end].mean(axis=0) for word in spans]
    if len(each) == 2:
        return np.concatenate([*each, each[0] * each[1]])
    return np.asarray(np.mean(each, axis=0))


def probe(features_ND: Array, label_N: Array, test_N: Array, labels: int) -> Array:
    """Learn a linear classifier on some cases; whether it is right on each of the others."""
    import torch

    mean, spread = features_ND[~test_N].mean(axis=0), features_ND[~test_N].std(axis=0)
    x_ND = torch.tensor((features_ND - mean) / (spread + 1e-6), dtype=torch.float32)
    y_N, test = torch.tensor(label_N), torch.tensor(test_N)
    weight = torch.zeros(x_ND.size(1), labels, requires_grad=True)
    bias = torch.zeros(labels, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight, bias], max_iter=_STEPS, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        total = torch.nn.functional.cross_entropy(x_ND[~test] @ weight + bias, y_N[~test])
        total = total + _DECAY * weight.square().sum()
        total.backward()
        return total

    optimizer.step(loss)
    with torch.no_grad():
        said = (x_ND[test] @ weight + bias).argmax(dim=1)
    return np.asarray((said == y_N[test]).numpy())


def _figure(right: Array, sentence: Array) -> Figure:
    hits = np.bincount(sentence, weights=right)
    found = share(hits, np.bincount(sentence))
    assert found is not None
    return found


def _single(item: Item, found: Iterator[tuple[int, str]]) -> Iterator[Case]:
    """Cases of one word each, where it has pieces of its own."""
    for at, label in found:
        word = item.source_words[at]
        if word.begin < word.end:
            yield Case((at,), label, word.text.lower())


def _word_class(item: Item) -> Iterator[Case]:
    assert item.truth is not None
    return _single(item, ((at, word.kind) for at, word in enumerate(item.truth.source)))


def _position(item: Item) -> Iterator[Case]:
    return _single(item, ((at, f"{at:02}") for at in range(min(len(item.source_words), MOST_PLACES))))


def _nouns(item: Item) -> Iterator[tuple[int, str, bool]]:
    """Each noun of the word lists: where it stands, its name, and whether there are several."""
    assert item.truth is not None
    for at, word in enumerate(item.truth.source):
        for plural, names in ((False, _singular()), (True, _plural())):
            if word.kind == "noun" and word.text.lower() in names:
                yield at, names[word.text.lower()], plural


@cache
def _singular() -> dict[str, str]:
    return {noun.english: noun.english for noun in nouns().values() if noun.english != noun.english_plural}


@cache
def _plural() -> dict[str, str]:
    return {noun.english_plural: noun.english for noun in nouns().values() if noun.english != noun.english_plural}


def _number(item: Item) -> Iterator[Case]:
    return _single(item, ((at, "plural" if plural else "singular") for at, _, plural in _nouns(item)))


def _category(item: Item) -> Iterator[Case]:
    known = ((at, [name for name in CATEGORIES if name in nouns()[noun].classes]) for at, noun, _ in _nouns(item))
    return _single(item, ((at, names[0]) for at, names in known if names))


def _tense(item: Item) -> Iterator[Case]:
    assert item.truth is not None
    return _single(item, ((verb.at, verb.tense) for verb in item.truth.verbs))


def _gender(item: Item) -> Iterator[Case]:
    """The gender, in French, of what "it" stands for, where the other noun has another: only the sentence tells."""
    it = item.truth.it if item.truth else None
    if it and it.decider is not None and not it.same_gender:
        decider = item.source_words[it.decider].text
        yield from (Case(case.words, case.label, decider) for case in _single(item, iter([(it.at, it.gender)])))


def _subject(item: Item) -> Iterator[Case]:
    """A verb and a noun: is this its subject?"""
    assert item.truth is not None
    words = item.source_words
    for verb in item.truth.verbs:
        for at, word in enumerate(item.truth.source):
            if word.kind in ("noun", "name") and verb.subject is not None and verb.at != at:
                spans = (words[verb.at], words[at])
                if all(span.begin < span.end for span in spans):
                    type_ = f"{spans[0].text} {spans[1].text}".lower()
                    yield Case((verb.at, at), "subject" if verb.subject == at else "other", type_)


def _sentiment(item: Item) -> Iterator[Case]:
    assert item.truth is not None
    whole = tuple(at for at, word in enumerate(item.source_words) if word.begin < word.end)
    if len(whole) > 2:
        yield Case(whole, item.truth.sentiment or "neither", item.source)


TASKS: dict[str, Callable[[Item], Iterator[Case]]] = {
    "position": _position,
    "word class": _word_class,
    "number": _number,
    "noun category": _category,
    "tense": _tense,
    "subject of verb": _subject,
    "gender of antecedent": _gender,
    "sentiment": _sentiment,
}
