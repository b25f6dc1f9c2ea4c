"""The conclusion of the pronoun experiment, which claims no more than the intervals allow.

An effect counts if its whole interval is beyond the smallest effect of interest, which is fixed here, before any model
is measured. It is excluded if its whole interval is below. Everything between is not decided.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from regard.interpret.measure.antecedent_heads import AntecedentHead
from regard.interpret.measure.pronoun_interventions import FORCED, PronounIntervention
from regard.statistics.estimate import Estimate

SMALLEST_EFFECT = 0.05  # the smallest difference in pronoun accuracy that is of interest

Outcome = Literal["no knowledge", "depends", "does not depend", "not decided"]


@dataclass(frozen=True)
class Verdict:
    """The outcome of the experiment, and the sentences that explain it."""

    outcome: Outcome
    text: str


def decide(
    accuracy: Estimate,
    swappable: Estimate | None,
    heads: Sequence[AntecedentHead],
    interventions: Sequence[PronounIntervention],
) -> Verdict:
    """Return the verdict; `heads` are the significant heads, and `interventions` those on them.

    `swappable` is the accuracy in sentences whose nouns are of one class, where the words alone do not tell.
    """
    verdict = _decide(accuracy, heads, interventions)
    if swappable is None or swappable.low > 0.5 or accuracy.low <= 0.5:
        return verdict
    return replace(
        verdict,
        text=f"{verdict.text} With nouns of one class, the model is right in {swappable:.3f}, which may be chance: it "
        "may know only which words go together.",
    )


def _decide(
    accuracy: Estimate, heads: Sequence[AntecedentHead], interventions: Sequence[PronounIntervention]
) -> Verdict:
    if accuracy.high < 0.5 + SMALLEST_EFFECT:
        return Verdict(
            "no knowledge",
            f"This model does not know what “it” refers to: it prefers the correct pronoun in {accuracy:.3f} of "
            "sentences, and chance is 0.5. There is nothing for attention to explain.",
        )
    if accuracy.low <= 0.5:
        return Verdict(
            "not decided",
            f"Not decided: the model prefers the correct pronoun in {accuracy:.3f} of sentences, which may be chance "
            "(0.5). More pairs are needed.",
        )
    if not heads:
        return Verdict(
            "not decided",
            f"Not decided: the model prefers the correct pronoun in {accuracy:.3f} of sentences, but no head was found "
            "that follows the cue. A weak head, or several heads that share the work, can be missed.",
        )
    return _effect_of_attention(len(heads), {one.name: one for one in interventions})


def _effect_of_attention(heads: int, interventions: dict[str, PronounIntervention]) -> Verdict:
    forced = interventions[FORCED]
    effect, control = forced.effect, forced.control_accuracy
    assert effect is not None and control is not None
    follow = "1 head follows the cue" if heads == 1 else f"{heads} heads follow the cue"
    attention = "its attention" if heads == 1 else "their attention"
    figures = (
        f"with the attention forced to the antecedent, pronoun accuracy is {control.value:.3f}; forced to the "
        f"distractor, {forced.accuracy.value:.3f}; difference {effect:+.3f}"
    )
    if effect.high < -SMALLEST_EFFECT:
        return Verdict(
            "depends", f"{follow}, and the pronoun depends on {attention}: {figures}.{_ablated(interventions)}"
        )
    if effect.low > -SMALLEST_EFFECT:
        return Verdict(
            "does not depend",
            f"{follow}, but the pronoun does not depend on {attention}: {figures}, which excludes a fall of "
            f"{SMALLEST_EFFECT:.2f} or more. That a head attends to a word does not mean that the model uses it.",
        )
    return Verdict(
        "not decided",
        f"{follow}. Whether the pronoun depends on {attention} is not decided: {figures}. The interval includes both "
        f"no effect of interest (less than {SMALLEST_EFFECT:.2f}) and one.",
    )


def _ablated(interventions: dict[str, PronounIntervention]) -> str:
    """Say in which ways removing the heads does more than removing others."""
    others = [one for one in interventions.values() if one.name != FORCED and one.effect is not None]
    worse = [one.name for one in others if one.effect is not None and one.effect.high < -SMALLEST_EFFECT]
    if not others:
        return ""
    if not worse:
        return " Removing does not clearly do more than removing other heads, so other heads may do the same work."
    rest = [one.name for one in others if one.name not in worse]
    not_clear = f" (not clear: {', '.join(rest)})" if rest else ""
    return f" Removing does more than removing as many other heads: {', '.join(worse)}{not_clear}."
