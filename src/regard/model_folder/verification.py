"""Names, shapes and types of parameters, checked before any memory is allocated for them."""

from pathlib import Path

from regard.errors import FolderError

HOW_TO_FIX = "restore the file from a copy or train the model again"

_TYPES = ("F32", "F16", "BF16")

MAX_PARAMETER_MAGNITUDE = 1e6


def check_parameters(path: Path, wanted: dict[str, tuple[int, ...]]) -> None:
    """All differences at once, from the head of the file: names that are missing or extra, shapes, types."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (no dictionary)
            found = {name: (tuple(part.get_shape()), part.get_dtype()) for name, part in slices.items()}
    except SafetensorError as error:
        raise FolderError(f"{path}: not safetensors ({error}); {HOW_TO_FIX}") from None
    problems = [f"{name} is missing" for name in wanted.keys() - found.keys()]
    problems += [f"{name} is not part of the model" for name in found.keys() - wanted.keys()]
    for name in wanted.keys() & found.keys():
        shape, kind = found[name]
        if shape != wanted[name]:
            problems.append(f"{name} is {shape} instead of {wanted[name]}")
        if kind not in _TYPES:
            problems.append(f"{name} is of type {kind} instead of {', '.join(_TYPES)}")
    if problems:
        raise FolderError(f"{path} does not fit settings.json: {'; '.join(sorted(problems))}")
