"""Upgrades the settings of a model folder of an older format, so that the loader reads only the current format.

The folder on disk does not change. Format 1 had the kind among the settings of the model, one pair of languages, other
names for two settings, and the alignment head in a file of its own.
"""

from typing import Any

from regard.errors import FolderError
from regard.model_folder.folder import describe_folder

_NEW_NAMES = {"longest": ("max_positions",), "vocabulary": ("source_vocab_size", "target_vocab_size")}


def upgrade_settings(contents: dict[str, Any], alignment_head: dict[str, Any] | None) -> dict[str, Any]:
    """Return the content of a `settings.json` of format 1 in the current format.

    `alignment_head` is the content of `alignment.json`, if there is one.
    """
    for name, wanted in (("model", dict), ("languages", list)):
        if name not in contents:
            raise FolderError(f"{name} is missing")
        if not isinstance(contents[name], wanted):
            raise FolderError(f"{name} is {contents[name]!r:.60}")
    model: dict[str, Any] = {}
    for name, value in contents["model"].items():
        if any(name in names for names in _NEW_NAMES.values()):
            raise FolderError(f"format 1 has no setting {name}")
        model.update(dict.fromkeys(_NEW_NAMES.get(name, (name,)), value))
    return describe_folder(
        kind=model.pop("kind", "transformer"),
        directions=[contents["languages"]],
        model=model,
        alignment_head=alignment_head,
    )
