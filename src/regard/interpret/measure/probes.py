"""What each layer knows: a linear probe reads a property of a word, or of two, off its vectors.

A probe that is right may have learnt the task itself. So each is compared with three others: one that always says the
commonest answer; one on the same architecture untrained; and one whose labels were dealt out at random to words, which
can only be learnt by heart (a control task; Hewitt and Liang, 2019). Layer 0 is embedding and position.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from regard.interpret.annotated_pairs import PairSample
from regard.interpret.measure.head_roles import FEW
from regard.interpret.measure.probe_tasks import TASKS, Case
from regard.interpret.teacher_forcing import layer_vectors
from regard.interpret.trace import Array
from regard.models.build import build_untrained
from regard.progress import Progress, Work
from regard.statistics.intervals import Estimate, proportion

if TYPE_CHECKING:
    from regard.models.kinds.transformer import Transformer

SMALL_LIFT = 0.02  # below which nothing is said about where a property arises

_STEPS = 60

_DECAY = 1e-3


@dataclass(frozen=True)
class ProbeResult:
    """A property, and how often it is read rightly off each layer, from layer 0 on."""

    task: str
    stack: str
    layers: tuple[Estimate, ...]
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


def measure_probes(model: "Transformer", sample: PairSample) -> Work[tuple[ProbeResult, ...]]:
    """Every property off every layer of its stack."""
    found: list[ProbeResult] = []
    for stack in ("encoder", "decoder"):
        its = {task: one for task, one in TASKS.items() if one.stack == stack}
        vectors = layer_vectors(model, sample.pairs, stack), layer_vectors(build_untrained(model), sample.pairs, stack)
        for done, (task, asked) in enumerate(its.items()):
            yield Progress(f"probing the {stack} for {task}", done, len(its))
            cases = [(at, case) for at, item in enumerate(sample.pairs) for case in asked.ask(item)]
            if len(cases) >= 2 * FEW and len({case.label for _, case in cases}) > 1:
                found.append(_probed(task, cases, sample, *vectors))
    return tuple(found)


def _probed(
    task: str, cases: Sequence[tuple[int, Case]], sample: PairSample, vectors: Sequence[Array], blank: Sequence[Array]
) -> ProbeResult:
    asked = TASKS[task]
    names = sorted({case.label for _, case in cases})
    right = np.array([names.index(case.label) for _, case in cases])
    dealt = np.array([right[crc32(case.type.encode()) % len(right)] for _, case in cases])
    # Sentences are learnt from or tested on, never both.
    test = np.array([at % 3 == 2 for at, _ in cases])
    sentence = np.array([at for at, _ in cases])[test]
    rows = [(at, [asked.rows(sample.pairs[at], word) for word in case.words]) for at, case in cases]
    figures, control, untaught = [], [], []
    for layer in range(len(vectors[0])):
        features = np.stack([_features(vectors[at][layer], spans) for at, spans in rows])
        empty = np.stack([_features(blank[at][layer], spans) for at, spans in rows])
        figures.append(_figure(probe(features, right, test, len(names)), sentence))
        control.append(float(probe(features, dealt, test, len(names)).mean()))
        untaught.append(float(probe(empty, right, test, len(names)).mean()))
    commonest = Counter(right[~test].tolist()).most_common(1)[0][0]
    share_of_it = float((right[test] == commonest).mean())
    return ProbeResult(task, asked.stack, tuple(figures), tuple(control), tuple(untaught), share_of_it, len(names))


def _features(vectors_LD: Array, spans: Sequence[range]) -> Array:
    """The mean of a word's rows; of two words both, and their product; of a whole sentence the mean."""
    each = [vectors_LD[rows.start : rows.stop].mean(axis=0) for rows in spans]
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


def _figure(right: Array, sentence: Array) -> Estimate:
    hits = np.bincount(sentence, weights=right)
    found = proportion(hits, np.bincount(sentence))
    assert found is not None
    return found
