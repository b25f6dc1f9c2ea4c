"""`regard bench serve`: measures the speed of a server on this machine."""

import json
import sys
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.commands.bench.group import bench
from regard.cli.line_input import ready_lines
from regard.cli.options import LANGUAGES, MODEL
from regard.console import say
from regard.errors import UserError

if TYPE_CHECKING:
    from regard.benchmark.server_load import ServerSpeed


@bench.command()
@MODEL
@LANGUAGES
@click.option("--url", help="Measure the server at this loopback address. Default: start one.")
@click.option("--clients", type=int, default=64, show_default=True, help="Number of clients of the largest load.")
@click.option("--json", "as_json", is_flag=True, help="The figures as JSON.")
def serve(model: Path, url: str | None, clients: int, as_json: bool) -> None:
    """Measure how fast a server translates standard input. This takes about two minutes."""
    if sys.stdin.isatty():
        raise UserError(f"standard input has no lines to translate: regard bench serve --model {model} < lines.txt")
    from regard.benchmark.server_load import ServerSpeed, measure_server

    lines = list(chain.from_iterable(ready_lines(sys.stdin.buffer)))
    for event in measure_server(model, lines, url=url, clients=clients):
        if not isinstance(event, ServerSpeed):
            say(f"measuring: {event}")
        elif as_json:
            click.echo(json.dumps(asdict(event)))
        else:
            _show(event)


def _show(speed: "ServerSpeed") -> None:
    """Print the speed of a server."""
    sys.stdout.write("clients  sentences/s  per CPU second  p50 ms  p95 ms  p99 ms  refused  different\n")
    for load in speed.loads:
        per_cpu = "" if load.sentences_per_cpu_second is None else f"{load.sentences_per_cpu_second:,.1f}"
        sys.stdout.write(
            f"{load.clients:7,}  {load.sentences_per_second:11,.1f}  {per_cpu:>14}  {load.p50_milliseconds:6,.0f}  "
            f"{load.p95_milliseconds:6,.0f}  {load.p99_milliseconds:6,.0f}  {load.refused:7,}  {load.different:9,}\n"
        )
    share = "" if speed.share_of_translate is None else f"; the server: {speed.share_of_translate:.0%} of that"
    memory = "not known" if speed.resident_mb is None else f"{speed.resident_mb:,.0f} MB of all processes of the server"
    sys.stdout.write(
        f"translate         {speed.translate_sentences_per_second:,.1f} sentences per second, "
        f"{speed.translate_sentences_per_cpu_second:,.1f} per CPU second by regard translate{share}\n"
        f"short sentence    {speed.idle_p50_milliseconds:,.1f} ms (p50) when idle; "
        f"{speed.engine_p50_milliseconds:,.1f} ms without a server\n"
        f"clients           {max(load.client_cpu_share for load in speed.loads):.0%} of a core at most, not counted "
        "above\n"
        f"memory            {memory}\n"
    )
