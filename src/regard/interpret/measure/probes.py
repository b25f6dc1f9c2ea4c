"""Linear probes: what the vectors of each layer encode about a token, a word, two words or a sentence.

A probe is a linear classifier that predicts a property from the vectors of a layer. High accuracy alone does not show
that the layer encodes the property, because the probe may have learned the task from its training examples:

- Where the type of a word gives the label away, a probe is tested on types that it was not trained on.
- The same probe on an untrained model of the same architecture shows what the words alone allow. What counts is the
  lift: how much more accurate the probe on the trained model is, in the same layer and on the same cases.
- A control task gives each type a random label, which can only be memorised (Hewitt and Liang, 2019). It is tested on
  types that occur in training, since others cannot be learned. It shows how much a probe can memorise in this layer.

Accuracy is balanced: every label counts equally, however frequent it is, so chance is one divided by the number of
labels. Layer 0 is the input of the first layer.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from regard.interpret.annotated_pairs import PairSample
from regard.interpret.measure.head_roles import MIN_CASES
from regard.interpret.measure.probe_tasks import TASKS, UNTESTED, Case, ProbeTask
from regard.interpret.teacher_forcing import layer_vectors
from regard.interpret.trace import Array
from regard.models.build import build_untrained
from regard.progress import Progress, Work
from regard.statistics.estimate import Estimate
from regard.statistics.intervals import proportion, proportion_change

if TYPE_CHECKING:
    from regard.models.interface import AutoregressiveModel

MIN_GAIN = 0.02  # the minimum gain of the lift over layer 0; with less, there is no expected layer

_MAX_ITERATIONS = 60

_WEIGHT_DECAY = 1e-3


@dataclass(frozen=True)
class ProbeResult:
    """The balanced accuracy of the probes of one task on each layer, from layer 0, and what to compare it with.

    All intervals are corrected for the number of layers, since one looks for the best.
    """

    task: str
    stack: str  # "encoder" or "decoder"
    labels: int  # the number of different labels; chance is one divided by it
    new_types: bool  # whether the probe is tested on types that it was not trained on
    layers: tuple[Estimate, ...]
    untrained: tuple[float, ...]  # the accuracy on an untrained model
    lift: tuple[Estimate, ...]  # the accuracy minus that on the untrained model
    control: tuple[float, ...]  # the accuracy on the control task; empty if types do not recur

    @property
    def best_layer(self) -> int:
        """The layer with the largest lift."""
        return max(range(len(self.lift)), key=lambda layer: self.lift[layer].value)

    @property
    def expected_layer(self) -> float | None:
        """The mean layer number, where the weight of a layer is its gain over the best lift of the layers below.

        None if the total gain is less than `MIN_GAIN`, or if it may be chance: no interval is above that of layer 0.
        """
        best = np.maximum.accumulate([lift.value for lift in self.lift])
        gains = np.diff(best)
        significant = max(lift.low for lift in self.lift) > self.lift[0].high
        if gains.sum() < MIN_GAIN or not significant:
            return None
        return float((np.arange(1, len(best)) * gains).sum() / gains.sum())


@dataclass(frozen=True)
class ProbeMeasurement:
    """The results of all probing tasks on one sample of sentence pairs."""

    sentences: int
    data: str
    layer_0: str  # what the vectors of layer 0 are, such as "embedding plus position"
    probes: tuple[ProbeResult, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-compatible values."""
        tasks = [{**asdict(probe), "expected_layer": probe.expected_layer} for probe in self.probes]
        facts = {"data": self.data, "sentences": self.sentences, "layer_0": self.layer_0}
        return {**facts, "tasks": tasks, "untested": UNTESTED}


def measure_probes(model: "AutoregressiveModel", sample: PairSample) -> Work[ProbeMeasurement]:
    """Train and test probes for each task on every layer; tasks with too few cases or a single label are skipped.

    Without annotations, only the tasks that need none are measured.
    """
    results: list[ProbeResult] = []
    annotated = all(pair.annotations for pair in sample.pairs)
    for stack in model.anatomy().stacks:
        tasks = {
            name: task for name, task in TASKS.items() if task.side == stack.side and (annotated or not task.annotated)
        }
        trained = layer_vectors(model, sample.pairs, stack)
        untrained = layer_vectors(build_untrained(model), sample.pairs, stack)
        for done, (name, task) in enumerate(tasks.items()):
            yield Progress(f"probing the {stack.name} for {name}", done, len(tasks))
            cases = [(number, case) for number, pair in enumerate(sample.pairs) for case in task.cases(pair)]
            if len(cases) >= 2 * MIN_CASES and len({case.label for _, case in cases}) > 1:
                results += _probe_layers(name, stack.name, cases, sample, trained, untrained)
    layer_0 = model.anatomy().stacks[-1].input.replace(" + ", " plus ")
    return ProbeMeasurement(len(sample), sample.name, layer_0, tuple(results))


def _probe_layers(
    name: str,
    stack: str,
    cases: Sequence[tuple[int, Case]],
    sample: PairSample,
    trained: Sequence[Array],
    untrained: Sequence[Array],
) -> list[ProbeResult]:
    """Return the result of one task, or nothing if there are too few cases or labels to test it."""
    task = TASKS[name]
    cases = _with_labels_on_both_sides(cases, task)
    names = sorted({case.label for _, case in cases})
    if len(names) < 2:
        return []
    labels = np.array([names.index(case.label) for _, case in cases])
    sentences = np.array([sentence for sentence, _ in cases])
    types = np.array([_type_number(case) for _, case in cases])
    clusters = types if task.new_types else sentences
    test = clusters % 3 == 2
    if test.sum() < MIN_CASES:
        return []
    weights = balanced_weights(labels[test])
    control_labels = np.array([labels[type_ % len(labels)] for type_ in types])
    control_test = (sentences % 3 == 2) & np.isin(types, types[sentences % 3 != 2])
    has_control = control_test.sum() >= MIN_CASES and len({*control_labels[sentences % 3 != 2]}) > 1
    layers, lifts, baselines, controls = [], [], [], []
    tests = len(trained[0])
    for layer in range(tests):
        features, plain = (_all_features(vectors, layer, cases, task, sample) for vectors in (trained, untrained))
        correct, baseline = (probe(each, labels, ~test, test, len(names)) for each in (features, plain))
        accuracy = proportion(correct * weights, weights, clusters=clusters[test], tests=tests)
        assert accuracy is not None
        layers.append(accuracy)
        lifts.append(proportion_change(baseline, correct, weights=weights, clusters=clusters[test], tests=tests))
        baselines.append(float(np.average(baseline, weights=weights)))
        if has_control:
            memorised = probe(features, control_labels, sentences % 3 != 2, control_test, len(names))
            controls.append(float(np.average(memorised, weights=balanced_weights(control_labels[control_test]))))
    lines = (tuple(layers), tuple(baselines), tuple(lifts), tuple(controls))
    return [ProbeResult(name, stack, len(names), task.new_types, *lines)]


def _with_labels_on_both_sides(cases: Sequence[tuple[int, Case]], task: ProbeTask) -> list[tuple[int, Case]]:
    """Leave out labels that occur only in training or only in testing, such as a word class with a single word.

    All cases of a type, or of a sentence, are used either for training or for testing, where the remainder is 2.
    """
    sides: dict[bool, set[str]] = {True: set(), False: set()}
    for sentence, case in cases:
        sides[(_type_number(case) if task.new_types else sentence) % 3 == 2].add(case.label)
    return [(sentence, case) for sentence, case in cases if case.label in sides[True] & sides[False]]


def _type_number(case: Case) -> int:
    return crc32(case.type.encode())


def balanced_weights(labels: Array) -> Array:
    """Return a weight for each case, so that all labels have the same total weight, and the mean weight is one."""
    _, index, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return np.asarray(len(labels) / len(counts) / counts[index])


def _all_features(
    vectors: Sequence[Array], layer: int, cases: Sequence[tuple[int, Case]], task: ProbeTask, sample: PairSample
) -> Array:
    return np.stack(
        [
            _features(vectors[number][layer], [task.rows(sample.pairs[number], word) for word in case.words])
            for number, case in cases
        ]
    )


def _features(vectors_LD: Array, spans: Sequence[range]) -> Array:
    """Return the input of a probe, where `spans` are the token positions of each word.

    For one word, or for all words of a sentence, the input is their mean vector. For two words, it is the vectors of
    both words and the elementwise product of these vectors.
    """
    words = [vectors_LD[rows.start : rows.stop].mean(axis=0) for rows in spans]
    if len(words) == 2:
        return np.concatenate([*words, words[0] * words[1]])
    return np.asarray(np.mean(words, axis=0))


def probe(features_ND: Array, label_N: Array, train_N: Array, test_N: Array, labels: int) -> Array:
    """Train a linear classifier on some cases; return whether it is right on each case in `test_N`.

    All labels that occur in training have the same total weight in the loss.
    """
    import torch

    center, deviation = features_ND[train_N].mean(axis=0), features_ND[train_N].std(axis=0)
    x_ND = torch.tensor((features_ND - center) / (deviation + 1e-6), dtype=torch.float32)
    y_N, train, test = torch.tensor(label_N), torch.tensor(train_N), torch.tensor(test_N)
    case_weights = torch.tensor(balanced_weights(label_N[train_N]), dtype=torch.float32)
    weight = torch.zeros(x_ND.size(1), labels, requires_grad=True)
    bias = torch.zeros(labels, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight, bias], max_iter=_MAX_ITERATIONS, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        losses = torch.nn.functional.cross_entropy(x_ND[train] @ weight + bias, y_N[train], reduction="none")
        total = (losses * case_weights).mean() + _WEIGHT_DECAY * weight.square().sum()
        total.backward()
        return total

    optimizer.step(loss)
    with torch.no_grad():
        predicted = (x_ND[test] @ weight + bias).argmax(dim=1)
    return np.asarray((predicted == y_N[test]).numpy())
