"""The command group `regard bench`."""

from regard.cli.main import main


@main.group()
def bench() -> None:
    """Measure speed on this machine."""
