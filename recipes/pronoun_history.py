"""How a model came to follow "it", written from the plans of its training runs for the model card."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.storage.json_files import read_json


@dataclass(frozen=True)
class Stage:
    """A training run: its name, its training files, and the loss weight of minimal pairs (0 for none)."""

    name: str
    files: tuple[str, ...]
    minimal_pair_weight: float


def stage_of(run: Path) -> Stage:
    """Return the stage of a run from its plan."""
    plan = read_json(run / "run" / "plan.json")
    files = tuple(file["name"] for corpus in plan["request"]["training data"] for file in corpus)
    return Stage(run.name, files, plan["settings"]["train"].get("minimal_pair_weight", 0.0))


def pronoun_history(stages: Sequence[Stage]) -> str:
    """Return the paragraph of the card; the stages are in their order, each fine-tunes the one before."""
    if not any(stage.minimal_pair_weight for stage in stages):
        files = dict.fromkeys(file for stage in stages for file in stage.files)
        return (
            "No training run gave minimal pairs a weight. What the model knows about “it” comes from ordinary training "
            f"on {_listed(files)}."
        )
    sentences = ["The model was taught what “it” refers to; it did not find out by itself."]
    taught: dict[str, None] = {}
    for stage in stages:
        if stage.minimal_pair_weight:
            taught |= dict.fromkeys(stage.files)
            sentences.append(
                f"The run `{stage.name}` trained on {_listed(stage.files)}, with {stage.minimal_pair_weight:g} times "
                "the loss weight on the first target token in which the two sentences of a minimal pair differ."
            )
        elif again := [file for file in stage.files if file in taught]:
            sentences.append(
                f"The run `{stage.name}` trained on {_listed(again)} again, where minimal pairs had no extra weight."
            )
        else:
            sentences.append(
                f"The run `{stage.name}` trained on {_listed(stage.files)}, where minimal pairs had no extra weight."
            )
    sentences.append("So this model is no evidence that attention learns coreference from translation alone.")
    return " ".join(sentences)


def _listed(names: Sequence[str] | dict[str, None]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
