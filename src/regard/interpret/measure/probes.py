"""Linear probes: what the vectors of each layer encode about a word, two words or a sentence.

A probe is a linear classifier that predicts a property of words from the vectors of a layer. High accuracy alone does
not show that the layer encodes the property, because the probe may have learned the task from its training examples.
Each probe is therefore compared with three baselines: always predicting the most frequent label; a probe on an
untrained model of the same architecture; and a control task, in which each word type has a random label that can only
be memorised (Hewitt and Liang, 2019). Layer 0 is the input of the first layer.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from regard.interpret.annotated_pairs import PairSample
from regard.interpret.measure.head_roles import MIN_CASES
from regard.interpret.measure.probe_tasks import TASKS, UNTESTED, Case
from regard.interpret.teacher_forcing import layer_vectors
from regard.interpret.trace import Array
from regard.models.build import build_untrained
from regard.progress import Progress, Work
from regard.statistics.estimate import Estimate
from regard.statistics.intervals import proportion

if TYPE_CHECKING:
    from regard.models.interface import AutoregressiveModel

MIN_GAIN = 0.02  # the minimum gain of accuracy over layer 0; with less, there is no expected layer

_MAX_ITERATIONS = 60

_WEIGHT_DECAY = 1e-3


@dataclass(frozen=True)
class ProbeResult:
    """The accuracy of the probes of one task on each layer, from layer 0, and the accuracy of the baselines."""

    task: str
    stack: str  # "encoder" or "decoder"
    layers: tuple[Estimate, ...]
    control: tuple[float, ...]  # the accuracy on the control task, for each layer
    untrained: tuple[float, ...]  # the accuracy on an untrained model, for each layer
    majority: float  # the accuracy of always predicting the most frequent label
    labels: int  # the number of different labels

    @property
    def expected_layer(self) -> float | None:
        """The mean layer number, where the weight of a layer is its gain over the best accuracy of the layers below.

        None if the total gain is less than `MIN_GAIN` or may be chance.
        """
        best = np.maximum.accumulate([accuracy.value for accuracy in self.layers])
        gains = np.diff(best)
        significant = max(accuracy.low for accuracy in self.layers) > self.layers[0].value
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
    """Train and test probes for each task on every layer; tasks with too few cases or a single label are skipped."""
    results: list[ProbeResult] = []
    for stack in model.anatomy().stacks:
        tasks = {name: task for name, task in TASKS.items() if task.side == stack.side}
        trained = layer_vectors(model, sample.pairs, stack)
        untrained = layer_vectors(build_untrained(model), sample.pairs, stack)
        for done, (name, task) in enumerate(tasks.items()):
            yield Progress(f"probing the {stack.name} for {name}", done, len(tasks))
            cases = [(number, case) for number, pair in enumerate(sample.pairs) for case in task.cases(pair)]
            if len(cases) >= 2 * MIN_CASES and len({case.label for _, case in cases}) > 1:
                results.append(_probe_layers(name, stack.name, cases, sample, trained, untrained))
    layer_0 = model.anatomy().stacks[-1].input.replace(" + ", " plus ")
    return ProbeMeasurement(len(sample), sample.name, layer_0, tuple(results))


def _probe_layers(
    name: str,
    stack: str,
    cases: Sequence[tuple[int, Case]],
    sample: PairSample,
    trained: Sequence[Array],
    untrained: Sequence[Array],
) -> ProbeResult:
    task = TASKS[name]
    names = sorted({case.label for _, case in cases})
    labels = np.array([names.index(case.label) for _, case in cases])
    control_labels = np.array([labels[crc32(case.type.encode()) % len(labels)] for _, case in cases])
    # All cases of a sentence are used either for training or for testing.
    test = np.array([sentence % 3 == 2 for sentence, _ in cases])
    test_sentences = np.array([sentence for sentence, _ in cases])[test]
    rows = [(sentence, [task.rows(sample.pairs[sentence], word) for word in case.words]) for sentence, case in cases]
    accuracies, control, baseline = [], [], []
    for layer in range(len(trained[0])):
        features = np.stack([_features(trained[sentence][layer], spans) for sentence, spans in rows])
        untrained_features = np.stack([_features(untrained[sentence][layer], spans) for sentence, spans in rows])
        accuracies.append(_accuracy(probe(features, labels, test, len(names)), test_sentences))
        control.append(float(probe(features, control_labels, test, len(names)).mean()))
        baseline.append(float(probe(untrained_features, labels, test, len(names)).mean()))
    most_frequent = Counter(labels[~test].tolist()).most_common(1)[0][0]
    majority = float((labels[test] == most_frequent).mean())
    return ProbeResult(name, stack, tuple(accuracies), tuple(control), tuple(baseline), majority, len(names))


def _features(vectors_LD: Array, spans: Sequence[range]) -> Array:
    """Return the input of a probe, where `spans` are the token positions of each word.

    For one word, or for all words of a sentence, the input is their mean vector. For two words, it is the vectors of
    both words and the elementwise product of these vectors.
    """
    words = [vectors_LD[rows.start : rows.stop].mean(axis=0) for rows in spans]
    if len(words) == 2:
        return np.concatenate([*words, words[0] * words[1]])
    return np.asarray(np.mean(words, axis=0))


def probe(features_ND: Array, label_N: Array, test_N: Array, labels: int) -> Array:
    """Train a linear classifier on the cases outside `test_N`; return whether it is right on each case in `test_N`."""
    import torch

    mean, deviation = features_ND[~test_N].mean(axis=0), features_ND[~test_N].std(axis=0)
    x_ND = torch.tensor((features_ND - mean) / (deviation + 1e-6), dtype=torch.float32)
    y_N, test = torch.tensor(label_N), torch.tensor(test_N)
    weight = torch.zeros(x_ND.size(1), labels, requires_grad=True)
    bias = torch.zeros(labels, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight, bias], max_iter=_MAX_ITERATIONS, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        total = torch.nn.functional.cross_entropy(x_ND[~test] @ weight + bias, y_N[~test])
        total = total + _WEIGHT_DECAY * weight.square().sum()
        total.backward()
        return total

    optimizer.step(loss)
    with torch.no_grad():
        predicted = (x_ND[test] @ weight + bias).argmax(dim=1)
    return np.asarray((predicted == y_N[test]).numpy())


def _accuracy(correct: Array, sentences: Array) -> Estimate:
    estimate = proportion(np.bincount(sentences, weights=correct), np.bincount(sentences))
    assert estimate is not None
    return estimate
