"""Describes every public Python name as Markdown, from signatures, docstrings and the comments of fields.

docs/reference/python.md is written by hand, with an example for each name. The text between `<!-- NAME -->` and
`<!-- end -->` is generated.
"""

import ast
import dataclasses
import inspect
import io
import re
import textwrap
import tokenize
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from typing import Any

import regard

# The classes of the values that public functions return, each with its module.
RETURNED = {
    "TranslationWarning": "regard.inference.result",
    "PlacedSpan": "regard.inference.result",
    "Identification": "regard.language_id",
    "Evaluation": "regard.evaluation.evaluator",
    "Scores": "regard.evaluation.scores",
    "Progress": "regard.progress",
    "Note": "regard.training.tracking.events",
    "Planned": "regard.training.tracking.events",
    "Step": "regard.training.step",
    "Validation": "regard.training.validation",
    "Stopped": "regard.training.tracking.events",
    "Finished": "regard.training.tracking.events",
    "AttentionMap": "regard.interpret.look.attention_map",
    "HeadArithmetic": "regard.interpret.look.arithmetic",
    "DecodingStep": "regard.interpret.look.inspection",
    "HeadEffects": "regard.interpret.look.head_effects",
    "RecurrentStep": "regard.interpret.look.recurrent_steps",
    "StateNorms": "regard.interpret.look.recurrent_steps",
    "SearchTrace": "regard.interpret.look.search_trace",
    "Trace": "regard.interpret.trace",
    "Tokens": "regard.interpret.tokens",
    "HeadReport": "regard.interpret.report.head_report",
    "PronounReport": "regard.interpret.report.pronoun_report",
    "ProbeReport": "regard.interpret.report.probe_report",
    "AlignmentHeadResult": "regard.interpret.measure.alignment_heads",
}

_GENERATED = re.compile(r"(?<=^<!-- )(?!end )([\w.]+)( -->\n).*?(?=^<!-- end -->$)", re.DOTALL | re.MULTILINE)


def public_names() -> dict[str, Any]:
    """Return every name of `regard`, and the classes of what its functions return."""
    own = {f"regard.{name}": getattr(regard, name) for name in regard.__all__}
    return own | {name: getattr(import_module(module), name) for name, module in RETURNED.items()}


def python_page(page: str) -> str:
    """Return the page with its generated parts up to date."""
    names = public_names()
    shown = [match[1] for match in _GENERATED.finditer(page)]
    if missing := set(names) - set(shown):
        raise ValueError(f"docs/reference/python.md has no part for {', '.join(sorted(missing))}")
    return _GENERATED.sub(lambda match: f"{match[1]}{match[2]}{_describe(match[1], names[match[1]])}\n", page)


def undocumented_names() -> list[str]:
    return [
        name if not member else f"{name}.{member}"
        for name, value in public_names().items()
        for member, defined in [("", value), *(_members(value) if inspect.isclass(value) else [])]
        if not inspect.getdoc(defined)
    ]


def _describe(name: str, value: Any) -> str:
    if not inspect.isclass(value):
        return "\n".join(["```py", f"{name}{_signature(value)}", "```", "", _prose(value), ""])
    lines = [_prose(value), ""]
    if dataclasses.is_dataclass(value):
        lines += [*_fields(value), ""]
    for member, defined in _members(value):
        call = _signature(defined) if inspect.isfunction(defined) else f": {_returns(_getter(defined))}"
        title = f"{name.removeprefix('regard.')}.{member}"
        lines += [f"### {title}", "", "```py", f"{title}{call}", "```", "", _prose(defined), ""]
    return "\n".join(lines)


def _getter(value: Any) -> Any:
    return value.func if isinstance(value, cached_property) else value.fget


def _prose(value: Any) -> str:
    return inspect.cleandoc(inspect.getdoc(value) or "").replace("\n\n\n", "\n\n")


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield public methods and properties, inherited ones of Regard included, in the order of the code."""
    own = [base for base in kind.__mro__ if base.__module__.startswith("regard")]
    names = {name: vars(base)[name] for base in reversed(own) for name in vars(base) if not name.startswith("_")}
    for name, defined in names.items():
        value = defined.__func__ if isinstance(defined, classmethod | staticmethod) else defined
        if inspect.isfunction(value) or isinstance(value, property | cached_property):
            yield name, value


def _function_node(function: Any) -> ast.FunctionDef:
    [node] = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body
    assert isinstance(node, ast.FunctionDef)
    return node


def _returns(function: Any) -> str:
    returns = _function_node(function).returns
    return ast.unparse(returns).strip("'") if returns else "None"


def _signature(function: Any) -> str:
    """Return the parameters with types and defaults as the code has them, but names of constants as their values."""
    node = _function_node(function)
    arguments = node.args
    if arguments.args and arguments.args[0].arg in ("self", "cls"):
        del arguments.args[0]
    given = inspect.signature(function).parameters
    names = [*(one.arg for one in arguments.args), *(one.arg for one in arguments.kwonlyargs)]
    defaults = {name: given[name].default for name in names}
    first = len(arguments.args) - len(arguments.defaults)
    arguments.defaults = [
        _plain(one, defaults[arguments.args[first + i].arg]) for i, one in enumerate(arguments.defaults)
    ]
    arguments.kw_defaults = [
        one and _plain(one, defaults[name.arg])
        for one, name in zip(arguments.kw_defaults, arguments.kwonlyargs, strict=True)
    ]
    parts = ast.unparse(arguments)
    parts = parts.replace("'", '"').replace("=", " = ")
    call = f"({parts}) -> {_returns(function)}"
    if len(call) < 90:
        return call
    rows = re.sub(r", (?=\*?\w*[:,)]|\*)", ",\n    ", parts)
    return f"(\n    {rows},\n) -> {_returns(function)}"


def _plain(node: ast.expr, value: Any) -> ast.expr:
    return ast.Constant(value) if isinstance(value, bool | int | float | str) else node


def _fields(kind: Any) -> list[str]:
    written = {name: one for base in reversed(kind.__mro__) for name, one in _written_fields(base).items()}
    rows = []
    for field in dataclasses.fields(kind):
        if not field.name.startswith("_"):
            annotation, comment = written[field.name]
            kind_of_value = annotation.replace("'", "").replace("|", r"\|")
            rows.append(f"| `{field.name}` | `{kind_of_value}` | {field.metadata.get('help', comment)} |")
    return ["| field | type | meaning |", "|---|---|---|", *rows]


def _written_fields(kind: type) -> dict[str, tuple[str, str]]:
    """Return the type and the comment of each field as the code has them.

    A comment is at the end of the line, or else in the lines before it.
    """
    if not dataclasses.is_dataclass(kind):
        return {}
    source = textwrap.dedent(inspect.getsource(kind))
    comments = {
        token.start[0]: (token.string.lstrip("# "), not token.line.strip().startswith("#"))
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    [node] = ast.parse(source).body
    assert isinstance(node, ast.ClassDef)
    return {
        each.target.id: (ast.unparse(each.annotation), _comment_of(each, comments))
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }


def _comment_of(field: ast.AnnAssign, comments: dict[int, tuple[str, bool]]) -> str:
    """Return the comment of a field from the comments by line, each with whether code stands before it."""
    text, follows_code = comments.get(field.end_lineno or 0, ("", False))
    if follows_code:
        return text
    line, before = field.lineno - 1, list[str]()
    while line in comments and not comments[line][1]:
        before.insert(0, comments[line][0])
        line -= 1
    return " ".join(before)
