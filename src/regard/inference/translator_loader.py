"""Load a translator from one or more model folders.

A single model on the CPU runs with CTranslate2; ensembles and GPUs use torch. Both backends give the same text. Several
models form an ensemble, which averages their probabilities for each token.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import ctranslate2

from regard.errors import SettingsError
from regard.inference.backends.core_allocation import allocate_cores
from regard.inference.backends.ctranslate2 import CTranslate2Backend
from regard.inference.backends.fallback import FallbackBackend
from regard.inference.backends.interface import Backend
from regard.inference.translator import Translator
from regard.interchange.ctranslate2.cache import cached_export
from regard.interchange.ctranslate2.support import supports_model
from regard.language_id import LanguageIdentifier
from regard.machine.cpu import cpu_count
from regard.model_folder import bundled
from regard.model_folder.compatibility import check_compatible
from regard.model_folder.folder import UNCALIBRATED, ModelFolder
from regard.model_folder.loader import open_folder

if TYPE_CHECKING:
    from regard.inference.backends.torch import TorchBackend

COMPUTE_TYPES = ("float32", "int8", "int16", "bfloat16")

BACKENDS = ("auto", "ctranslate2", "torch")


def load_translator(
    folder: str | Path | None = None,
    *others: str | Path,
    compute_type: str = "float32",
    backend: str = "auto",
    device: str = "cpu",
) -> Translator:
    """Load a translator from a model folder, or from several as an ensemble. The default is the bundled `en-fr` model.

    `compute_type` is the number format of CTranslate2: float32, int8, int16 or bfloat16. A CPU may not support the last
    three. `backend` is "ctranslate2", "torch", or "auto". "auto" chooses CTranslate2 for a single model on the CPU if
    CTranslate2 supports the decode settings. Otherwise it chooses torch.
    """
    return make_translator(open_folders(folder, *others), compute_type=compute_type, backend=backend, device=device)


def open_folders(folder: str | Path | None, *others: str | Path) -> list[ModelFolder]:
    """Verify and open model folders; None stands for the bundled `en-fr` model."""
    return [open_folder(Path(path)) for path in (bundled.for_languages() if folder is None else folder, *others)]


def make_translator(
    folders: Sequence[ModelFolder], *, compute_type: str = "float32", backend: str = "auto", device: str = "cpu"
) -> Translator:
    """Return a translator that uses one model, or several models as an ensemble."""
    if len(folders) > 1:
        check_compatible(folders)
    # An ensemble has no alignment head: each of its models has a different one.
    alignment_head = folders[0].alignment if len(folders) == 1 else None
    if _choose_backend(folders, compute_type, backend, device) == "torch":
        chosen: Backend = _torch_backend(folders, device)
    else:
        chosen = _ctranslate2_backend(folders[0], compute_type, with_fallback=backend == "auto")
    return Translator(
        chosen,
        folders[0].tokenizer,
        max_positions=min(folder.settings.max_positions for folder in folders),
        alignment_head=alignment_head,
        decode=folders[0].decode,
        calibration_temperature=folders[0].calibration_temperature if len(folders) == 1 else UNCALIBRATED,
        identifier=LanguageIdentifier(folders[0].language_profiles),
        source_language=folders[0].languages[0],
    )


def _ctranslate2_backend(folder: ModelFolder, compute_type: str, *, with_fallback: bool) -> Backend:
    _check_compute_type(compute_type)
    fast = CTranslate2Backend(
        cached_export(folder, compute_type),
        folder.tokenizer,
        max_positions=folder.settings.max_positions,
        cores=allocate_cores(folder.settings.width, cpu_count()),
        compute_type=compute_type,
    )
    # Torch computes in float32 only, so it cannot replace CTranslate2 with another compute type.
    if not with_fallback or compute_type != "float32":
        return fast
    return FallbackBackend(fast, lambda: _torch_backend([folder], "cpu"))


def _choose_backend(folders: Sequence[ModelFolder], compute_type: str, backend: str, device: str) -> str:
    """Return "ctranslate2" or "torch"; raise a SettingsError if neither supports this combination."""
    if backend not in BACKENDS:
        raise SettingsError(f"--backend is one of {', '.join(BACKENDS)}, not {backend!r}")
    obstacle = _obstacle(folders, device)
    if backend == "ctranslate2" and obstacle is not None:
        raise SettingsError(f"CTranslate2 does not support {obstacle}; leave --backend out, or use --backend torch")
    if backend != "torch" and obstacle is None:
        return "ctranslate2"
    if compute_type != "float32":
        because = f", and only torch supports {obstacle}" if backend == "auto" else ""
        raise SettingsError(f"torch computes in float32, not in {compute_type}{because}; leave --compute-type out")
    return "torch"


def _obstacle(folders: Sequence[ModelFolder], device: str) -> str | None:
    """Return why CTranslate2 cannot run these models, or None if it can."""
    if len(folders) > 1:
        return "several models"
    if device != "cpu":
        return f"the device {device}"
    return None if supports_model(folders[0].settings) else f"models of the kind {folders[0].settings.kind}"


def _torch_backend(folders: Sequence[ModelFolder], device: str) -> "TorchBackend":
    from regard.inference.backends.ensemble import Ensemble
    from regard.inference.backends.torch import TorchBackend
    from regard.models.interface import as_autoregressive

    _check_device(device)
    models = [as_autoregressive(folder.build()).to(device) for folder in folders]
    if len(models) > 1:
        return TorchBackend(Ensemble(models), folders[0].tokenizer.generable, device=device)
    head = folders[0].alignment.head if folders[0].alignment else None
    return TorchBackend(models[0], folders[0].tokenizer.generable, device=device, alignment_head=head)


def _check_device(device: str) -> None:
    if device == "cpu":
        return
    from regard.machine.device import find_missing_gpu

    if device.partition(":")[0] not in ("cuda", "mps"):
        raise SettingsError(f"device is cpu, cuda or mps, not {device!r}")
    if problem := find_missing_gpu(device, default="cpu"):
        raise SettingsError(f"device={device}, but {problem}")


def _check_compute_type(compute_type: str) -> None:
    if compute_type not in COMPUTE_TYPES:
        raise SettingsError(f"{compute_type!r} is not a compute type; choose one of {', '.join(COMPUTE_TYPES)}")
    supported = sorted(ctranslate2.get_supported_compute_types("cpu").intersection(COMPUTE_TYPES))
    if compute_type not in supported:
        raise SettingsError(
            f"this CPU does not support --compute-type {compute_type}; it supports {', '.join(supported)}"
        )
