"""Several models as one folder, whose weights are the mean of theirs. It costs what one of them costs.

That helps where the models are near each other: the end of one run, or fine-tunes of one model.
"""

import datetime
from collections.abc import Sequence
from pathlib import Path

from regard.decoding.convert import make_fast
from regard.errors import RunError
from regard.files import sha256
from regard.folder import ModelFolder, check_alike, open_folder, save_folder
from regard.training.card import describe_model, title
from regard.training.checkpoints import mean
from regard.training.plan import versions


def average(folders: Sequence[str | Path], *, out: str | Path) -> None:
    """Write a model folder with the mean of the weights of others."""
    out = Path(out)
    if len(folders) < 2:
        raise RunError("an average needs at least two model folders")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RunError(f"--out {out} is there already; choose another name for the model folder")
    opened = [open_folder(Path(folder)) for folder in folders]
    check_alike(opened, shape=True)
    save_folder(
        out,
        settings=opened[0].settings,
        weights=mean(one.build().state_dict() for one in opened).weights,
        tokenizer=opened[0].tokenizer,
        languages=opened[0].languages,
        card=_card(opened),
    )
    make_fast(out)


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
