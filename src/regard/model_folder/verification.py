"""A check of the names, shapes and types of parameters, made before memory is allocated for them."""

from pathlib import Path

from regard.errors import FolderError

HOW_TO_FIX = "restore the file from a copy or train the model again"

_DTYPES = ("F32", "F16", "BF16")

MAX_PARAMETER_MAGNITUDE = 1e6


def check_parameters(path: Path, expected: dict[str, tuple[int, ...]]) -> None:
    """Compare the header of a safetensors file with the expected names and shapes.

    If they differ, raise a FolderError that lists all differences.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (`file` is not a dictionary)
            stored = {name: (tuple(slice_.get_shape()), slice_.get_dtype()) for name, slice_ in slices.items()}
    except SafetensorError as error:
        raise FolderError(f"{path}: not a safetensors file ({error}); {HOW_TO_FIX}") from None
    problems = [f"{name} is missing" for name in expected.keys() - stored.keys()]
    problems += [f"{name} is not part of the model" for name in stored.keys() - expected.keys()]
    for name in expected.keys() & stored.keys():
        shape, dtype = stored[name]
        if shape != expected[name]:
            problems.append(f"{name} has the shape {shape} instead of {expected[name]}")
        if dtype not in _DTYPES:
            problems.append(f"{name} has the type {dtype} instead of {', '.join(_DTYPES)}")
    if problems:
        raise FolderError(f"{path} does not match settings.json: {'; '.join(sorted(problems))}")
