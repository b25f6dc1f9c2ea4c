"""Options and commands that have been renamed. Using an old name is an error whose message gives the new name."""

import click

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


def new_name(error: click.UsageError) -> str | None:
    """Return a message with the new name if the user used an old name; otherwise return None."""
    if error.ctx is None:
        return None
    command = _command_name(error.ctx)
    if isinstance(error, click.NoSuchOption):
        new = _FLAGS.get((command, error.option_name))
        return f"{error.option_name} is now {new}" if new else None
    for (group, old), new in _COMMANDS.items():
        if group == command and repr(old) in error.message:
            return f"regard {group} {old} is now {new}"
    return None


def _command_name(context: click.Context) -> str:
    """Return the name of a command without the name of the program: `measure pronouns`, for example."""
    names: list[str] = []
    while context.parent is not None:
        names.insert(0, context.info_name or "")
        context = context.parent
    return " ".join(names)
