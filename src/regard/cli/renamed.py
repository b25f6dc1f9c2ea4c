"""Options and commands that have been renamed. Using an old name is an error whose message gives the new name.

The name of a setting, written as an option, is also an error: `--length-penalty` is --set decode.length_penalty=VALUE.
"""

import click

from regard.settings.renamed import RENAMED
from regard.settings.sections import setting_names

_FLAGS = {
    ("train", "--average"): "regard average MODEL MODEL --out MODEL",
    ("train", "--settings"): "--config",
    ("evaluate", "--scores"): "regard score FILES",
    ("demo", "--write"): "regard synthetic --out FILE",
    ("demo", "--truth"): "regard synthetic --annotations",
    ("demo", "--count"): "regard synthetic --count",
    ("demo", "--seed"): "regard synthetic --seed",
    ("demo", "--split"): "regard synthetic --split",
    ("look", "--pieces"): "--tokens",
    ("translate", "--fast"): "--compute-type",
    ("evaluate", "--fast"): "--compute-type",
    ("bench translate", "--fast"): "--compute-type",
}

_COMMANDS = {("measure", "it"): "regard measure pronouns", ("measure", "layers"): "regard measure probes"}

# For these commands, a name that occurs in several sections is the setting of the first of them.
_TRAINING_COMMANDS, _TRAINING_SECTIONS = ("train", "check", "bench train"), ("train", "tokenizer", "model", "decode")


def new_name(error: click.UsageError) -> str | None:
    """Return a message with the new name if the user used an old name; otherwise return None."""
    if error.ctx is None:
        return None
    command = _command_name(error.ctx)
    if isinstance(error, click.NoSuchOption):
        new = _FLAGS.get((command, error.option_name))
        return f"{error.option_name} is now {new}" if new else _as_setting(error.ctx, command, error.option_name)
    for (group, old), new in _COMMANDS.items():
        if group == command and repr(old) in error.message:
            return f"regard {group} {old} is now {new}"
    return None


def _as_setting(context: click.Context, command: str, option: str) -> str | None:
    """Return a message that says how to change the setting that `option` names, or None if there is no such setting."""
    flags = {flag for parameter in context.command.params for flag in parameter.opts}
    if "--set" not in flags:
        return None
    old = option.lstrip("-").replace("-", "_")
    for section in _TRAINING_SECTIONS if command in _TRAINING_COMMANDS else ("decode",):
        name = RENAMED.get(f"{section}.{old}", f"{section}.{old}").removeprefix(f"{section}.")
        if name in setting_names(section):
            flag = f"--{name.replace('_', '-')}"
            return f"{option}: use {flag}" if flag in flags else f"{option}: use --set {section}.{name}=VALUE"
    return None


def _command_name(context: click.Context) -> str:
    """Return the name of a command without the name of the program: `measure pronouns`, for example."""
    names: list[str] = []
    while context.parent is not None:
        names.insert(0, context.info_name or "")
        context = context.parent
    return " ".join(names)
