"""The card says how a model came to follow "it": by a lesson on minimal pairs, or by ordinary training."""

from collections.abc import Callable
from types import ModuleType


def test_a_lesson_is_disclosed(script: Callable[[str], ModuleType]) -> None:
    module = script("pronoun_history")
    stages = [
        module.Stage("first", ("a.tsv", "b.tsv"), 0.0),
        module.Stage("it", ("pairs.tsv",), 10.0),
        module.Stage("model", ("a.tsv", "pairs.tsv"), 0.0),
    ]
    assert module.pronoun_history(stages).split(". ") == [
        "The model was taught what “it” refers to; it did not find out by itself",
        "The run `first` trained on a.tsv and b.tsv, where minimal pairs had no extra weight",
        "The run `it` trained on pairs.tsv, with 10 times the loss weight on the first target token in which the two "
        "sentences of a minimal pair differ",
        "The run `model` trained on pairs.tsv again, where minimal pairs had no extra weight",
        "So this model is no evidence that attention learns coreference from translation alone.",
    ]
    assert module.pronoun_history(stages[:1]) == (
        "No training run gave minimal pairs a weight. What the model knows about “it” comes from ordinary training on "
        "a.tsv and b.tsv."
    )
