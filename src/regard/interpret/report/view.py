"""The view that `model.look` returns: one inspected translation, and every way to see it.

    view.attention("decoder.3.cross.1")          a map, of words; numpy.asarray of it gives the numbers
    view.trace["decoder.3.cross.1.query"]        any number of the pass
    view.arithmetic("encoder.2.self.5", "it")          the arithmetic of one head for one word
    view.steps()                                 each generated token with its probability and alternatives
    view.save("a.html"), .save("a.json")         one self-contained page; the numbers

In a notebook a view shows itself as that page.
"""

from collections.abc import Sequence
from pathlib import Path

from regard.errors import LookError
from regard.interpret.look.inspection import Inspection
from regard.interpret.report.look_page import page
from regard.render.html_page import notebook_frame
from regard.storage.atomic_files import write_atomically


class View(Inspection):
    """An inspected translation that can be saved as a page."""

    def html(self, heads: Sequence[str] = ()) -> str:
        """One self-contained page. It has the maps of all heads, and queries, keys and values of `heads`."""
        self.check(heads)
        return page(self, heads)

    def save(self, path: str | Path, heads: Sequence[str] = ()) -> None:
        """Write the page (.html) or the numbers (.json)."""
        path = Path(path)
        if path.suffix not in (".html", ".json"):
            raise LookError(f"{path}: a view is saved as .html or .json; a map is saved from its .svg()")
        write_atomically(path, self.html(heads) if path.suffix == ".html" else self.json(heads))

    def _repr_html_(self) -> str:
        return notebook_frame(self.html(), "Regard: looking inside")
