"""Interventions on antecedent heads: does the French pronoun depend on where these heads look?

Each intervention has a sham control, which does the same without touching the question. Heads that are forced to attend
to the distractor are compared with the same heads, forced to attend to the antecedent. Removed heads are compared with
as many other heads, removed in the same way. There are three ways to remove an output: set it to zero, to its mean over
all sentences, or to that of another sentence (resampled). The last two keep the size of what the next layer gets.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regard.interpret.address import locate_head
from regard.interpret.annotated_pairs import SEED
from regard.interpret.interventions import ForcedAttention, HeadIntervention, ReplacedOutputs
from regard.interpret.measure.antecedent_heads import QueryHead
from regard.interpret.measure.pronoun_task import MinimalPair, PronounTask, noun_columns, query_rows
from regard.interpret.teacher_forcing import Batch, MakeIntervention, head_outputs
from regard.interpret.trace import Array
from regard.progress import Progress, Work
from regard.statistics.estimate import Estimate
from regard.statistics.intervals import proportion, proportion_change

if TYPE_CHECKING:
    from torch import Tensor

    from regard.models.interface import AutoregressiveModel

FORCED = "forced to the distractor"

ABLATIONS = ("zero ablation", "mean ablation", "resample ablation")

INTERVENTIONS = 1 + len(ABLATIONS)

CONTROL_DRAWS = 3  # how many times other heads are drawn as the control of an ablation

Heads = tuple[str, ...]


@dataclass(frozen=True)
class PronounIntervention:
    """The pronoun accuracy under an intervention on heads, and under its sham control.

    `effect` is the accuracy under the intervention minus that under the control, on the same sentences. Its interval is
    corrected for the number of interventions.
    """

    name: str
    heads: Heads
    accuracy: Estimate
    control: str
    control_heads: tuple[Heads, ...]
    control_accuracy: Estimate | None  # None if the model has no other heads to remove
    effect: Estimate | None


class PronounInterventions:
    """Measures the pronoun accuracy of a model under interventions on heads."""

    def __init__(
        self, model: "AutoregressiveModel", minimal_pairs: Sequence[MinimalPair], frames: Sequence[str]
    ) -> None:
        self._model = model
        self.task = PronounTask(model, [sentence for both in minimal_pairs for sentence in both])
        self._frames = [frame for frame in frames for _ in range(2)]  # of each sentence
        self._outputs: dict[str, list[Array]] = {}  # by head, of each pair of the task

    def run(self, chosen: Sequence[QueryHead]) -> Work[tuple[PronounIntervention, ...]]:
        """Return the effect of each intervention on the chosen heads."""
        heads = tuple(head for _, head in chosen)
        controls = control_heads(heads, self._model)
        self._outputs = head_outputs(self._model, self.task.pairs, list(dict.fromkeys([*heads, *sum(controls, ())])))
        names = (FORCED, *ABLATIONS)
        results = []
        for done, name in enumerate(names, start=1):
            if name == FORCED:
                correct = self._correct(lambda batch: self.forced_attention(batch, chosen, 1))
                sham = [self._correct(lambda batch: self.forced_attention(batch, chosen, 0))]
                results.append(self._compare(name, heads, correct, "forced to the antecedent", (heads,), sham))
            else:
                correct = self._correct(self._ablation(name, heads))
                sham = [self._correct(self._ablation(name, control)) for control in controls]
                results.append(self._compare(name, heads, correct, "the same with other heads", controls, sham))
            yield Progress("running the interventions", done, len(names))
        return tuple(results)

    def _correct(self, make_intervention: MakeIntervention | None) -> Array:
        """Return, for each sentence, whether the model prefers the correct pronoun."""
        return np.asarray(self.task.preference(make_intervention) > 0)

    def _compare(
        self, name: str, heads: Heads, correct: Array, control: str, used: tuple[Heads, ...], sham: Sequence[Array]
    ) -> PronounIntervention:
        accuracy = proportion(correct, np.ones(len(correct)), clusters=self._frames)
        assert accuracy is not None
        if not sham:
            return PronounIntervention(name, heads, accuracy, control, (), None, None)
        draws = np.stack(sham)
        controlled = proportion(draws.mean(axis=0), np.ones(len(correct)), clusters=self._frames)
        effect = proportion_change(draws, correct, clusters=self._frames, tests=INTERVENTIONS)
        assert controlled is not None
        return PronounIntervention(name, heads, accuracy, control, used, controlled, effect)

    def _ablation(self, name: str, heads: Heads) -> MakeIntervention:
        if name == "zero ablation":
            return lambda _: HeadIntervention(heads)
        replacement = self._mean_outputs if name == "mean ablation" else self._outputs_of_others
        return lambda batch: ReplacedOutputs({head: replacement(head, batch) for head in heads})

    def _mean_outputs(self, head: str, batch: Batch) -> "Tensor":
        return self._tensor(np.concatenate(self._outputs[head]).mean(axis=0))

    def _outputs_of_others(self, head: str, batch: Batch) -> "Tensor":
        """Return the outputs of the head at the same positions of another sentence, or at its last position.

        The two targets of a contrast get the outputs of the two targets of the same other contrast.
        """
        count = len(self.task.contrasts)
        others = np.random.default_rng(SEED).permutation(count)
        # The next one in a random circle, so that no contrast gets its own outputs.
        after = dict(zip(others.tolist(), np.roll(others, 1).tolist(), strict=True))
        arrays = [self._outputs[head][2 * after[index // 2] + index % 2] for index in batch.indices]
        length = max(len(self._outputs[head][index]) for index in batch.indices)
        rows = [np.minimum(np.arange(length), len(array) - 1) for array in arrays]
        return self._tensor(np.stack([array[row] for array, row in zip(arrays, rows, strict=True)]))

    def _tensor(self, array: Array) -> "Tensor":
        import torch

        return torch.tensor(array, device=self._model.device)

    def forced_attention(self, batch: Batch, chosen: Sequence[QueryHead], noun: int) -> ForcedAttention:
        """Return an intervention that forces the query of each head to attend only to one noun.

        The noun is the antecedent (0) or the distractor (1).
        """
        spans = {}
        for query, head in chosen:
            each = [(self.task.contrasts[number // 2], self.task.pairs[number]) for number in batch.indices]
            spans[head] = [(query_rows(sentence, pair)[query], noun_columns(pair)[noun]) for sentence, pair in each]
        return ForcedAttention(spans)


def control_heads(heads: Heads, model: "AutoregressiveModel") -> tuple[Heads, ...]:
    """Draw as many other heads as controls, several times, with a fixed seed; the draws are different sets.

    The control of a head is in the same attention sublayer if possible, otherwise in another sublayer of the same kind.
    There are no controls if the model has too few other heads.
    """
    kinds = {head: attention.kind for attention in model.anatomy().attentions for head in attention.head_addresses}
    generator = np.random.default_rng(SEED)
    draws: list[Heads] = []
    for _ in range(CONTROL_DRAWS):
        control: list[str] = []
        for head in heads:
            attention, _ = locate_head(head)
            free = [each for each in kinds if each not in heads and each not in control]
            same_attention = [each for each in free if locate_head(each)[0] == attention]
            same_kind = [each for each in free if kinds[each] == kinds[head]]
            if same_attention or same_kind:
                control.append(str(generator.choice(same_attention or same_kind)))
        if len(control) == len(heads) and not any(set(control) == set(draw) for draw in draws):
            draws.append(tuple(control))
    return tuple(draws)
