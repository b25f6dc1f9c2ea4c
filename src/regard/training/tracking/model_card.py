"""Writes the model card, which describes the data, training and scores of a model in Markdown."""

import datetime
import platform
from collections.abc import Iterator, Sequence

from regard.data.formats.records import LanguagePair
from regard.machine.cpu import cpu_count
from regard.models.build import count_parameters
from regard.render.units import format_count
from regard.settings.model import ModelSettings
from regard.training.checkpoints import RunState
from regard.training.objectives import objective_of
from regard.training.out_of_memory import MicroBatchSlices
from regard.training.planning.plan import Plan
from regard.training.prepared_data import PreparedData
from regard.training.validation import Validation


def write_card(
    plan: Plan,
    data: PreparedData,
    state: RunState,
    slices: MicroBatchSlices,
    candidates: Sequence[tuple[str, Validation]],
    kept: str,
) -> str:
    """Return the text of the model card.

    `candidates` has the name and the scores of each set of parameters that was compared at the end of the run. `kept`
    is the name of the best set.
    """
    lines = [
        title(data.languages, plan.settings.model),
        "",
        *_origin(plan, data),
        "",
        "## Data",
        *_data(plan, data),
        "",
        "## Model",
        plan.settings.model.describe(),
        _parameters(plan),
        "",
        "## Training",
        *_training(plan, state, slices),
        "",
        "## Scores on the validation pairs",
        *_scores(plan, candidates, kept),
        "",
        "## Licence",
        "The licence of the data above, where it applies to the model. Please fill in.",
        "",
    ]
    return "\n".join(lines)


def title(languages: LanguagePair, settings: ModelSettings) -> str:
    source, target = (language or "unknown" for language in languages)
    what = "translator" if objective_of(settings).translates else f"{settings.kind} model"
    return f"# A {what} from {source} to {target}"


def _origin(plan: Plan, data: PreparedData) -> Iterator[str]:
    yield f"Made with Regard {plan.versions['regard']} on {datetime.date.today().isoformat()}."
    if data.parent:
        yield (
            f"Fine-tuned from the model `{data.parent.path.name}` "
            f"(SHA-256 of its parameters: `{plan.request['from']}`)."
        )


def _data(plan: Plan, data: PreparedData) -> Iterator[str]:
    for split in ("training data", "validation data"):
        for corpus in plan.request[split]:
            for file in corpus:
                yield f"- {split}: {file['name']}, SHA-256 `{file['sha256']}`"
    if weights := plan.request.get("weights", ()):
        yield f"- weights of the training corpora: {', '.join(f'{weight:g}' for weight in weights)}"
    held_out = " held out of the training data, by source sentence" if data.texts.held_out else ""
    dropped = "".join(f", {count:,} left out ({reason})" for reason, count in data.corpus.dropped.items())
    yield ""
    yield f"{len(data.corpus.train):,} training pairs, {len(data.corpus.valid):,} validation pairs{held_out}{dropped}."


def _parameters(plan: Plan) -> str:
    count = count_parameters(plan.settings.model)
    return f"{count.total:,} parameters, {count.without_embeddings:,} of them outside the token embeddings."


def _training(plan: Plan, state: RunState, slices: MicroBatchSlices) -> Iterator[str]:
    train = plan.settings.train
    for reason in plan.reasons:
        yield f"- {reason}"
    yield (
        f"- {state.step:,} steps of about {train.batch_tokens:,} target tokens, {plan.seconds_per_step:.2f} s each, "
        f"dropout {train.dropout}, label smoothing {train.label_smoothing}, seed {train.seed}, {train.precision}"
    )
    if skipped := state.divergence.skipped:
        yield f"- {skipped:,} steps skipped because their gradients were not finite"
    for step, count in slices.until(state.step):
        yield f"- from step {step:,} on, micro-batches {count} times smaller, to fit in memory"
    versions = ", ".join(f"{name} {version}" for name, version in plan.versions.items())
    yield f"- {platform.system()} {platform.machine()}, {format_count(cpu_count(), 'core')}, {plan.device}, {versions}"


def _scores(plan: Plan, candidates: Sequence[tuple[str, Validation]], kept: str) -> Iterator[str]:
    is_translated = objective_of(plan.settings.model).translates
    yield "| parameters | loss | BLEU | chrF |" if is_translated else "| parameters | loss |"
    yield "|---|---|---|---|" if is_translated else "|---|---|"
    for name, scores in candidates:
        mark = " (kept)" if name == kept else ""
        yield f"| {name}{mark} | {scores.loss:.3f} |" + (
            f" {scores.bleu:.1f} | {scores.chrf:.1f} |" if is_translated else ""
        )
    yield ""
    decode = plan.settings.decode
    how = f"Beam size {decode.beam_size}, length penalty {decode.length_penalty}, sacreBLEU's defaults. "
    yield (how if is_translated else "") + (
        "The parameters were chosen by these scores, so expect slightly lower scores on a separate test set."
    )
