"""Options that are used by several commands."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from regard.errors import UserError
from regard.model_folder import bundled
from regard.settings.kinds import KINDS
from regard.settings.sizes import SIZE_NAMES

if TYPE_CHECKING:
    from regard.spans.glossary import Glossary

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _choose_model(context: click.Context, parameter: click.Parameter, given: Any) -> Any:
    """Return the model that the user gave with --model, or else the bundled model for the pair in --languages."""
    languages = context.meta.get("languages")
    if given and languages:
        raise UserError("--languages chooses among the bundled models, and --model names one; leave one of them out")
    if given or context.resilient_parsing:
        return given
    chosen = bundled.display_path(bundled.for_languages(languages))  # messages show the short name
    return (chosen,) if parameter.multiple else chosen


def _remember_languages(context: click.Context, parameter: click.Parameter, given: tuple[str, str] | None) -> None:
    context.meta["languages"] = given


def _remember_override(context: click.Context, parameter: click.Parameter, given: int | None) -> None:
    if given is not None:
        context.meta.setdefault("overrides", []).append(f"decode.{parameter.name}={given}")


def _remember_kind(context: click.Context, parameter: click.Parameter, given: str | None) -> None:
    if given is not None:
        context.meta.setdefault("overrides", []).append(f"model.kind={given}")


def _all_overrides(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the settings from --set, followed by those from --kind, --beam-size and --n-best."""
    return (*given, *context.meta.get("overrides", ()))


class _ModelPath(click.Path):
    """The type of --model; an empty text, for example from an unset variable of the shell, is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            raise UserError("--model is empty; give a model folder, or the name of a bundled model")
        return super().convert(value, param, ctx)


_MODEL = "A model folder, or the name of a bundled model. Default: the bundled model en-fr"

MODEL = click.option("-m", "--model", callback=_choose_model, type=_ModelPath(path_type=Path), help=f"{_MODEL}.")

MODELS = click.option(
    "-m",
    "--model",
    "models",
    callback=_choose_model,
    multiple=True,
    type=_ModelPath(path_type=Path),
    help=f"{_MODEL}. Several models form an ensemble.",
)

LANGUAGES = click.option(
    "--languages",
    nargs=2,
    metavar="SOURCE TARGET",
    is_eager=True,  # processed before --model, which uses the value
    expose_value=False,
    callback=_remember_languages,
    help="Use the bundled model of these languages, instead of --model.",
)

CONFIG = click.option(
    "--config", type=click.Path(path_type=Path), metavar="FILE.toml", help="Read settings from a TOML file."
)


def _set_option(example: str) -> Callable[[_Function], _Function]:
    return click.option(
        "--set",
        "overrides",
        multiple=True,
        callback=_all_overrides,
        metavar="SECTION.NAME=VALUE",
        help=f"Change a setting, e.g. {example}.",
    )


SET, TRAIN_SET = _set_option("decode.length_penalty=1"), _set_option("train.dropout=0.1")

KIND = click.option(
    "--kind",
    type=click.Choice(list(KINDS)),
    is_eager=True,  # processed before --set, which adds the value to the settings
    expose_value=False,
    callback=_remember_kind,
    help="Kind of model. The same as --set model.kind=KIND.",
)

SIZE = click.option(
    "--size", type=click.Choice(SIZE_NAMES), help="Size of the model. Default: chosen from the data and the machine."
)

BEAM_SIZE = click.option(
    "--beam-size",
    type=int,
    is_eager=True,  # processed before --set, which adds the value to the settings
    expose_value=False,
    callback=_remember_override,
    help="Hypotheses kept at each step; 1 is greedy search. The same as --set decode.beam_size=N.",
)

N_BEST = click.option(
    "--n-best",
    type=int,
    is_eager=True,  # processed before --set, which adds the value to the settings
    expose_value=False,
    callback=_remember_override,
    help="Translations to return for each text. The same as --set decode.n_best=N.",
)

COMPUTE_TYPE = click.option(
    "--compute-type",
    type=click.Choice(["float32", "int8", "int16", "bfloat16"]),
    default="float32",
    show_default=True,
    help="Number format of CTranslate2; the others are faster and less precise.",
)

BACKEND = click.option(
    "--backend",
    type=click.Choice(["auto", "ctranslate2", "torch"]),
    default="auto",
    show_default=True,
    help="Library that runs the model; auto is CTranslate2 wherever it gives the same text as torch.",
)


class _NewFile(click.Path):
    """The type of an option that names an output file; a missing folder is reported before the command starts."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not path.parent.is_dir():
            raise UserError(f"{path}: the folder {path.parent} does not exist; create it first")
        if path.is_dir():
            raise UserError(f"{path} is a folder; give the name of a file")
        return path


NEW_FILE = _NewFile(path_type=Path)


GLOSSARY = click.option(
    "--glossary",
    type=click.Path(path_type=Path),
    help="Terms with the translations that they must get: source term, tab, target term (or =) on each line.",
)


def read_glossary(path: Path | None) -> "Glossary | None":
    """Return the glossary of the option --glossary, or None without the option."""
    if path is None:
        return None
    from regard.spans.glossary import Glossary

    return Glossary.read(path)
