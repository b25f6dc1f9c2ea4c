"""The translations of parts of texts that an engine process keeps, because they may be asked for again.

While a user types, only the last sentence is new. The least recently used parts are dropped when all of them together
take more memory than allowed, which is estimated from the lengths of their texts.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, MutableMapping

from regard.inference.joiner import Part
from regard.inference.result import Translation

_Key = tuple[str, Part]  # model and settings, and the part

_BYTES_PER_PART = 600  # of the objects of a part without its characters and tokens
_BYTES_PER_TRANSLATION = 500
_BYTES_PER_TOKEN = 80


class PartCache:
    """Translations of parts by model, settings and part."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._parts: OrderedDict[_Key, list[Translation]] = OrderedDict()
        self._sizes: dict[_Key, int] = {}
        self.bytes = 0

    def view(self, scope: str) -> "PartView":
        """Return the parts of one model and its settings, for one call of a translator."""
        return PartView(self, scope)

    def commit(self, keys: Iterable[_Key]) -> None:
        """Count the memory of new parts, and drop the parts that were used least recently."""
        for key in keys:
            self._sizes[key] = _size(key, self._parts[key])
            self.bytes += self._sizes[key]
        while self.bytes > self._max_bytes:
            key, _ = self._parts.popitem(last=False)
            self.bytes -= self._sizes.pop(key)


class PartView(MutableMapping[Part, list[Translation]]):
    """The parts of one model and its settings. Nothing is dropped until the call of the translator has ended."""

    def __init__(self, cache: PartCache, scope: str) -> None:
        self._cache, self._scope = cache, scope
        self._added: dict[_Key, None] = {}
        self._used: set[Part] = set()

    @property
    def misses(self) -> int:
        return len(self._added)

    @property
    def hits(self) -> int:
        return len(self._used) - len(self._added)

    def added_bytes(self) -> int:
        """Return how many bytes of text were not in the cache."""
        return sum(len(part[0].encode("utf-8", "replace")) for _, part in self._added)

    def close(self, *, failed: bool) -> None:
        """End the call of the translator. Parts that it has not translated because it failed are removed."""
        if failed:
            for key in self._added:
                self._cache._parts.pop(key, None)
            self._added.clear()
        self._cache.commit(self._added)

    def __contains__(self, part: object) -> bool:
        return (self._scope, part) in self._cache._parts

    def __getitem__(self, part: Part) -> list[Translation]:
        key = (self._scope, part)
        translations = self._cache._parts[key]
        self._cache._parts.move_to_end(key)
        self._used.add(part)
        return translations

    def __setitem__(self, part: Part, translations: list[Translation]) -> None:
        key = (self._scope, part)
        if key not in self._cache._parts:
            self._added[key] = None
        self._cache._parts[key] = translations

    def __delitem__(self, part: Part) -> None:
        del self._cache._parts[self._scope, part]

    def __iter__(self) -> Iterator[Part]:
        return (part for scope, part in self._cache._parts if scope == self._scope)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _size(key: _Key, translations: list[Translation]) -> int:
    characters = len(key[1][0]) + sum(len(each.text) + len(each.source) for each in translations)
    numbers = sum(
        len(each.tokens)
        + len(each.log_probabilities)
        + len(each.alignment or ())
        + len(each.spans)
        + len(each.warnings)
        for each in translations
    )
    return _BYTES_PER_PART + _BYTES_PER_TRANSLATION * len(translations) + 2 * characters + _BYTES_PER_TOKEN * numbers
