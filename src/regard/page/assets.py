"""Reads the files of the page and joins its modules into one script."""

import re
from importlib.resources import files

_IMPORT = re.compile(r'^import .* from "\./(\w+\.js)";\n', re.MULTILINE)


def joined_script() -> str:
    """The modules of the page as one, each after those it imports."""
    done: dict[str, str] = {}

    def add(name: str) -> None:
        if name in done:
            return
        text = read_asset(name)
        for needed in _IMPORT.findall(text):
            add(needed)
        done[name] = re.sub(r"^export ", "", _IMPORT.sub("", text), flags=re.MULTILINE)

    add("main.js")
    return "\n".join(done.values())


def read_asset(name: str) -> str:
    """A file of `page/`."""
    return (files("regard") / "page" / name).read_text("utf-8")
