"""The models that come with Regard. Their names give the languages: `en-fr` translates from English to French.

They are ordinary model folders, but Regard never writes to them, because several users may share one installation.
"""

from pathlib import Path

from regard.errors import FolderError

HERE = Path(__file__).parent

DEFAULT = "en-fr"

LANGUAGE_NAMES = {"en": "English", "fr": "French"}


def available() -> list[str]:
    """Return the names of the bundled models."""
    return sorted(manifest.parent.name for manifest in HERE.glob("*/manifest.json"))


def for_languages(languages: tuple[str, str] | None = None) -> Path:
    """Return the folder of the bundled model for these languages. The default is `en-fr`."""
    if not available():
        raise FolderError(
            "this copy of Regard has no bundled models; train one with `regard train SOURCE TARGET --out my-model` and "
            "use it with --model my-model"
        )
    name = "-".join(languages) if languages else DEFAULT
    if name not in available():
        raise FolderError(
            f"no bundled model {name}; the bundled models are {', '.join(available())}; train your own with "
            "`regard train SOURCE TARGET --out my-model` and use it with --model my-model"
        )
    return HERE / name


def from_language(source: str | None) -> str | None:
    """Return the name of the bundled model that translates from this language, or None if there is none."""
    return next((name for name in available() if name.split("-")[0] == source), None)


def resolve(path: Path) -> Path:
    """Return the folder of the bundled model named `path`.

    If `path` exists, or if no bundled model has this name, return `path`.
    """
    return HERE / path if not path.exists() and str(path) in available() else path


def display_path(folder: Path) -> Path:
    """Return the name of a bundled model instead of its folder, unless something in the current folder has this name.

    The folder of any other model is returned unchanged.
    """
    name = Path(folder.name)
    return name if resolve(name) == folder else folder


def is_bundled(path: Path) -> bool:
    """Return whether a folder is a bundled model."""
    return path.resolve().parent == HERE.resolve()
