"""The models that come with Regard: which there are, and where. A name says the languages, `en-fr` from English.

They are model folders like any other, but never written to: an installed package belongs to all who use it.
"""

from pathlib import Path

from regard.errors import FolderError

HERE = Path(__file__).parent

DEFAULT = "en-fr"


def available() -> list[str]:
    """Of those that are there."""
    return sorted(manifest.parent.name for manifest in HERE.glob("*/manifest.json"))


def for_languages(languages: tuple[str, str] | None = None) -> Path:
    """The folder of the model of these languages, or of the default."""
    if not available():
        raise FolderError(
            "this copy of Regard comes without models; name a model folder of your own: "
            "`regard train SOURCE TARGET --out my-model` makes one, and --model my-model uses it"
        )
    name = "-".join(languages) if languages else DEFAULT
    if name not in available():
        raise FolderError(
            f"no model {name} comes with Regard, only {', '.join(available())}; train your own: "
            "`regard train SOURCE TARGET --out my-model` makes it, and --model my-model uses it"
        )
    return HERE / name


def resolve(path: Path) -> Path:
    """What a path means: a folder or file that is there; else, if it is the name of a bundled model, that one."""
    return HERE / path if not path.exists() and str(path) in available() else path


def is_bundled(path: Path) -> bool:
    """Whether a folder is one of ours."""
    return path.resolve().parent == HERE.resolve()
