"""The card of a model: what it was made of and how, for people."""

import datetime
import os
import platform
from collections.abc import Sequence

from regard.model_folder.folder import Languages
from regard.settings.kinds.transformer import TransformerSettings
from regard.training.checkpoints import RunState
from regard.training.out_of_memory import MicroBatchSplits
from regard.training.planning.plan import Plan
from regard.training.prepared_data import PreparedData
from regard.training.validation import Validation


def write_card(
    plan: Plan,
    made: PreparedData,
    progress: RunState,
    splits: MicroBatchSplits,
    candidates: Sequence[tuple[str, Validation]],
    kept: str,
) -> str:
    """The card as Markdown."""
    train, decode = plan.settings.train, plan.settings.decode
    files = [
        f"- {part}: {file['name']}, SHA-256 `{file['sha256']}`"
        for part in ("training data", "validation data")
        for corpus in plan.request[part]
        for file in corpus
    ]
    mixed = plan.request.get("weights", ())
    weights = [f"- weights of the training data: {', '.join(f'{weight:g}' for weight in mixed)}"] if mixed else []
    dropped = "".join(f", {count:,} left out ({reason})" for reason, count in made.shards.dropped.items())
    held_out = " held out of the training data, by source sentence" if made.texts.held_out else ""
    scores = [
        f"| {name}{' (kept)' if name == kept else ''} | {v.loss:.3f} | {v.bleu:.1f} | {v.chrf:.1f} |"
        for name, v in candidates
    ]
    lines = [
        title(made.languages),
        "",
        f"Made with Regard {plan.versions['regard']} on {datetime.date.today().isoformat()}.",
        *(
            [f"Fine-tuned from the model `{made.parent.path.name}` (its manifest's SHA-256: `{plan.request['from']}`)."]
            if made.parent
            else []
        ),
        "",
        "## Data",
        *files,
        *weights,
        "",
        f"{len(made.shards.train):,} training pairs, {len(made.shards.valid):,} validation pairs{held_out}{dropped}.",
        "",
        "## Model",
        describe_model(plan.settings.model),
        "",
        "## Training",
        *(f"- {reason}" for reason in plan.reasons),
        f"- {progress.step:,} steps of about {train.batch_tokens:,} target pieces at {plan.seconds_per_step:.2f} s, "
        f"dropout {train.dropout}, label smoothing {train.label_smoothing}, seed {train.seed}, {train.precision}",
        *_events(progress, splits),
        f"- {platform.system()} {platform.machine()}, {os.cpu_count()} cores, {plan.device}, "
        + ", ".join(f"{name} {number}" for name, number in plan.versions.items()),
        "",
        "## Scores on the validation pairs",
        "| weights | loss | BLEU | chrF |",
        "|---|---|---|---|",
        *scores,
        "",
        f"Beam {decode.beam_size}, length penalty {decode.length_penalty}, sacreBLEU's defaults. "
        "The weights were chosen by these scores, so a test set of its own will be a little less kind.",
        "",
        "## Licence",
        "That of the data above, as far as it reaches. Fill in.",
        "",
    ]
    return "\n".join(lines)


def _events(progress: RunState, splits: MicroBatchSplits) -> list[str]:
    """What happened on the way that is not in the plan."""
    skipped = progress.divergence.skipped
    lines = [f"- {skipped:,} steps skipped, because their gradients were not finite"] if skipped else []
    return lines + [
        f"- from step {step:,} on each micro-batch cut {parts} times as fine, to fit in memory"
        for step, parts in splits.until(progress.step)
    ]


def title(languages: Languages) -> str:
    source, target = (language or "unknown" for language in languages)
    return f"# A translator from {source} to {target}"


def describe_model(model: TransformerSettings) -> str:
    """The shape in a sentence."""
    return (
        f"Transformer, {model.encoder_layers} + {model.decoder_layers} layers, width {model.width}, feed-forward "
        f"{model.feedforward}, {model.heads} heads, {model.norm}-norm, {model.positions} positions, "
        f"{model.vocab_size:,} rows of pieces."
    )
