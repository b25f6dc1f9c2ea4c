"""Reads the files of the page and bundles its JavaScript modules into one script."""

import re
from importlib.resources import files

_IMPORT = re.compile(r'^import .* from "\./(\w+\.js)";\n', re.MULTILINE)


def bundled_script() -> str:
    """Return the JavaScript modules of the page as one script, each module after the modules it imports."""
    modules: dict[str, str] = {}

    def add(name: str) -> None:
        if name in modules:
            return
        text = read_asset(name)
        for imported in _IMPORT.findall(text):
            add(imported)
        modules[name] = re.sub(r"^export ", "", _IMPORT.sub("", text), flags=re.MULTILINE)

    add("main.js")
    return "\n".join(modules.values())


def read_asset(name: str) -> str:
    """Return the text of a file in the folder `page/`."""
    return (files("regard") / "page" / name).read_text("utf-8")
