"""The model sizes, such as `tiny` and `base`. Each kind of model has its own sizes."""

from regard.errors import SettingsError
from regard.settings.fields import Overrides, nearest
from regard.settings.kinds import DEFAULT_KIND, KINDS, get_kind

SIZE_NAMES = tuple(dict.fromkeys(size for kind in KINDS.values() for size in kind.sizes))  # of all kinds


def size_overrides(size: str, kind: str = DEFAULT_KIND) -> Overrides:
    """Return the settings of a size of a kind of model that differ from the defaults."""
    sizes = get_kind(kind).sizes
    if size not in sizes:
        raise SettingsError(
            f"unknown size {size!r}; the sizes of {kind} models are {', '.join(sizes)}{nearest(size, sizes)}"
        )
    return {**sizes[size], "model": {**sizes[size].get("model", {}), "kind": kind}}
