"""Several models as one folder, whose weights are the mean of theirs. It costs what one of them costs.

That helps where the models are near each other: the end of one run, or fine-tunes of one model.
"""

import datetime
from collections.abc import Sequence
from pathlib import Path

from regard.errors import RunError
from regard.interchange.ctranslate2.export import ensure_export
from regard.model_folder.compatibility import check_compatible
from regard.model_folder.folder import ModelFolder
from regard.model_folder.loader import open_folder
from regard.model_folder.writer import save_folder
from regard.storage.manifest import sha256
from regard.training.checkpoints import mean
from regard.training.planning.plan import versions
from regard.training.tracking.model_card import describe_model, title


def average(folders: Sequence[str | Path], *, out: str | Path) -> None:
    """Write a model folder with the mean of the weights of others."""
    out = Path(out)
    if len(folders) < 2:
        raise RunError("an average needs at least two model folders")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RunError(f"--out {out} is there already; choose another name for the model folder")
    opened = [open_folder(Path(folder)) for folder in folders]
    check_compatible(opened, shape=True)
    save_folder(
        out,
        settings=opened[0].settings,
        weights=mean(one.build().state_dict() for one in opened).weights,
        tokenizer=opened[0].tokenizer,
        languages=opened[0].languages,
        card=_card(opened),
    )
    ensure_export(out)


def _card(parents: Sequence[ModelFolder]) -> str:
    lines = [
        title(parents[0].languages),
        "",
        f"Made with Regard {versions()['regard']} on {datetime.date.today().isoformat()}: the mean of the weights of",
        "",
        *(f"- `{one.path.name}` (its manifest's SHA-256: `{sha256(one.path / 'manifest.json')}`)" for one in parents),
        "",
        "Their cards say what they were made of.",
        "",
        "## Model",
        describe_model(parents[0].settings),
        "",
        "## Scores",
        "Not measured yet: `regard evaluate` does.",
        "",
        "## Licence",
        "That of the models above. Fill in.",
        "",
    ]
    return "\n".join(lines)
