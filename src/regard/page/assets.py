"""Reads the files of the page, and bundles its JavaScript modules into one script for a page without a server."""

import re
from importlib.resources import files

_SERVED = (".css", ".js", ".svg")

_IMPORT = re.compile(r'^import (\{ .* \}) from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|const|class) (\w+))", re.MULTILINE)


def bundled_script(entry: str) -> str:
    """Return a JavaScript module and all modules that it imports as one script without imports.

    Each module becomes a function that returns what the module exports, after the modules that it imports.
    """
    modules: dict[str, str] = {}

    def add(name: str) -> None:
        if name in modules:
            return
        text = read_asset(f"{name}.js")
        for _, imported in _IMPORT.findall(text):
            add(imported)
        exported = ", ".join(_EXPORT.findall(text))
        body = _EXPORT.sub("", _IMPORT.sub(r"const \1 = \2_module;\n", text))
        modules[name] = f"const {name}_module = (() => {{\n{body}return {{ {exported} }};\n}})();\n"

    add(entry.removesuffix(".js"))
    return "".join(modules.values())


def imported_modules(entry: str) -> list[str]:
    """Return the names of a JavaScript module and of all modules that it imports, but not of those it loads later."""
    found = [entry]
    for name in found:
        found += [f"{each}.js" for _, each in _IMPORT.findall(read_asset(name)) if f"{each}.js" not in found]
    return found


def bundled_style(*names: str) -> str:
    """Return style sheets of the folder `page/` as one."""
    return "\n".join(map(read_asset, names))


def read_asset(name: str) -> str:
    """Return the text of a file in the folder `page/`."""
    return (files("regard") / "page" / name).read_text("utf-8")


def served_files() -> dict[str, bytes]:
    """Return the style sheets, modules and pictures that a server offers, by name."""
    folder = files("regard") / "page"
    return {each.name: each.read_bytes() for each in folder.iterdir() if each.name.endswith(_SERVED)}
