"""Averages the parameters of several models, which gives one model of the same size and speed.

Averaging helps when the models are similar, such as fine-tuned versions of the same model.
"""

import datetime
from collections.abc import Sequence
from pathlib import Path

from regard.data.formats.corpus import Paths, as_list
from regard.errors import RunError
from regard.interchange.ctranslate2.export import ensure_export
from regard.model_folder.compatibility import check_compatible
from regard.model_folder.folder import ModelFolder
from regard.model_folder.loader import open_folder
from regard.model_folder.writer import save_folder
from regard.training.checkpoints import mean_parameters
from regard.training.planning.plan import versions
from regard.training.tracking.model_card import title


def average_models(folders: Paths, *, out: str | Path) -> None:
    """Average the parameters of several model folders, and write the average to the folder `out`."""
    out, paths = Path(out), as_list(folders)
    if len(paths) < 2:
        raise RunError("an average needs at least two model folders; in Python, give them as a list")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RunError(f"--out {out} already exists; choose another name for the model folder")
    parents = [open_folder(path) for path in paths]
    check_compatible(parents, shape=True)
    save_folder(
        out,
        settings=parents[0].settings,
        weights=mean_parameters(parent.build().state_dict() for parent in parents).weights,
        tokenizer=parents[0].tokenizer,
        languages=parents[0].languages,
        decode=parents[0].decode,
        language_profiles=parents[0].language_profiles,
        card=_card(parents),
    )
    ensure_export(out)


def _card(parents: Sequence[ModelFolder]) -> str:
    lines = [
        title(parents[0].languages, parents[0].settings),
        "",
        f"Made with Regard {versions()['regard']} on {datetime.date.today().isoformat()} as the average of",
        "",
        *(f"- `{parent.path.name}` (SHA-256 of its parameters: `{parent.weights_sha256}`)" for parent in parents),
        "",
        "See their model cards for the training data.",
        "",
        "## Model",
        parents[0].settings.describe(),
        "",
        "## Scores",
        "Not measured yet. Use `regard evaluate`.",
        "",
        "## Licence",
        "The licence of the models above. Please fill in.",
        "",
    ]
    return "\n".join(lines)
