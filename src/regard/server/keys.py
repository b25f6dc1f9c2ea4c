"""The keys of clients, of which only hashes are stored.

A keys file has one table for each key:

    [[key]]
    name = "mastodon"
    sha256 = "..."
    characters_per_month = 1000000  # optional
    requests_per_minute = 60        # optional
"""

import hashlib
import hmac
import re
import secrets
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from regard.server.errors import ServeError
from regard.settings.fields import nearest
from regard.storage.atomic_files import write_atomically

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HASH = re.compile(r"[0-9a-f]{64}")

_MAX_KEY_CHARACTERS = 512  # a longer one is wrong, without hashing it


@dataclass(frozen=True)
class Key:
    """A key, by its hash, and what its owner may use."""

    name: str
    sha256: str
    characters_per_month: int | None = None
    requests_per_minute: int | None = None


class Keys:
    """The keys of a server."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self.keys = tuple(keys)

    def find(self, given: str) -> Key | None:
        """Return the key that a client has sent, or None. The time does not depend on which characters are right."""
        if len(given) > _MAX_KEY_CHARACTERS:
            return None
        digest = _hash(given)
        found = None
        for key in self.keys:
            if hmac.compare_digest(digest, key.sha256):
                found = key
        return found


def read_keys(path: Path) -> Keys:
    """Read a keys file; raise a `ServeError` that says what is wrong in it."""
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ServeError(f"{path}: no such keys file; make one with: regard serve new-key NAME --keys {path}") from None
    except OSError as error:
        raise ServeError(f"{path}: cannot be read ({error.strerror}); let the server's user read it") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ServeError(f"{path}: not valid TOML: {error}") from None
    if unknown := next((name for name in content if name != "key"), None):
        raise ServeError(f"{path}: {unknown!r:.40} is not known there; each key is a table [[key]]")
    tables = content.get("key", [])
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise ServeError(f"{path}: write each key as a table [[key]]")
    keys = [_key(path, number, each) for number, each in enumerate(tables, start=1)]
    names = [key.name for key in keys]
    if double := next((name for name in names if names.count(name) > 1), None):
        raise ServeError(f"{path}: two keys are named {double}; give each its own name")
    return Keys(keys)


def add_key(path: Path, name: str, limits: dict[str, int | None]) -> str:
    """Make a new key, add its hash to a keys file, which may be new, and return the key."""
    if not _NAME.fullmatch(name):
        raise ServeError(f"{name!r:.80} is no name for a key; use up to 64 letters, digits and . _ -")
    present = read_keys(path).keys if path.exists() else ()
    if any(key.name == name for key in present):
        raise ServeError(f"{path}: there is a key named {name}; choose another name, or remove its table from the file")
    key = secrets.token_urlsafe(32)
    lines = ["[[key]]", f'name = "{name}"', f'sha256 = "{_hash(key)}"']
    lines += [f"{limit} = {value}" for limit, value in limits.items() if value is not None]
    before = path.read_text("utf-8") if path.exists() else ""
    write_atomically(path, (before.rstrip("\n") + "\n\n" if before.strip() else "") + "\n".join(lines) + "\n")
    path.chmod(0o600)
    read_keys(path)
    return key


def _key(path: Path, number: int, table: dict[str, Any]) -> Key:
    known = [field.name for field in fields(Key)]
    where = f"{path}: key {number}"
    if unknown := next((one for one in table if one not in known), None):
        raise ServeError(f"{where}: unknown name {unknown!r:.40}{nearest(unknown, known)}")
    name, digest = table.get("name"), table.get("sha256")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ServeError(f"{where}: `name` must have up to 64 letters, digits and . _ -")
    if not isinstance(digest, str) or not _HASH.fullmatch(digest):
        raise ServeError(
            f"{where} ({name}): `sha256` must be 64 hexadecimal digits, as `regard serve new-key` writes it"
        )
    for limit in ("characters_per_month", "requests_per_minute"):
        value = table.get(limit, 1)
        if type(value) is not int or value < 1:
            raise ServeError(f"{where} ({name}): {limit} must be a whole number of at least 1")
    return Key(**table)


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
