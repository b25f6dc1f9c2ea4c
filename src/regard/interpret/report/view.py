"""The view that `model.look` returns: one inspected translation, and the methods to display and save it.

    view.attention("decoder.3.cross.1")          an attention map; `numpy.asarray` of it gives the attention weights
    view.trace["decoder.3.cross.1.query"]        any array that the model computed
    view.arithmetic("encoder.2.self.5", "it")    the arithmetic of one head for one word
    view.recurrent_step("decoder.1", "it")       the gates and states of a recurrent layer for one word
    view.norms()                                 the norms of the states of recurrent layers over the positions
    view.steps()                                 each generated token with its probability and alternatives
    view.save("a.html"), view.save("a.json")     write an HTML page, or the numbers as JSON

A notebook displays a view as its HTML page.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from regard.errors import LookError
from regard.interpret.look.inspection import Inspection
from regard.interpret.report.look_page import inspection_page
from regard.render.html_page import notebook_frame
from regard.storage.atomic_files import write_atomically


class View(Inspection):
    """An inspected translation that can be displayed and saved."""

    def html(self, addresses: Sequence[str] = ()) -> str:
        """Return a self-contained HTML page with the attention maps of all heads.

        It also has the vectors of the heads and recurrent layers at `addresses`, such as queries or gates. If there are
        no addresses, these are the vectors of as many heads and layers as a size limit allows.
        """
        return inspection_page(self, *self.heads_and_recurrences(addresses))

    def save(self, path: str | Path, addresses: Sequence[str] = ()) -> None:
        """Write the HTML page (.html), or the tokens, decoding steps and attention weights as JSON (.json).

        The vectors of the heads and recurrent layers at `addresses`, such as queries or gates, are included.
        """
        path = Path(path)
        match path.suffix:
            case ".html":
                write_atomically(path, self.html(addresses))
            case ".json":
                write_atomically(path, json.dumps(self.to_dict(addresses), ensure_ascii=False) + "\n")
            case _:
                raise LookError(
                    f"{path}: a view is saved as .html or .json; to save one map, write the text of its svg() method"
                )

    def _repr_html_(self) -> str:
        return notebook_frame(self.html(), "Regard: inspection of a translation")
