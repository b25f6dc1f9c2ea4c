"""The keys file: what is written, what is refused, and that keys are found by their hash only."""

from pathlib import Path

import pytest
from tests.cli.runner import call

from regard.server.errors import ServeError
from regard.server.keys import add_key, read_keys

HASH = "0" * 64


def test_new_keys_are_found_and_only_their_hash_is_stored(tmp_path: Path):
    path = tmp_path / "keys.toml"
    first = add_key(path, "mastodon", {})
    second = add_key(path, "web.late", {"characters_per_month": 5, "requests_per_minute": 7})
    keys = read_keys(path)
    found = keys.find(first), keys.find(second)
    assert [key and key.name for key in found] == ["mastodon", "web.late"]
    assert found[1] and (found[1].characters_per_month, found[1].requests_per_minute) == (5, 7)
    assert keys.find(first[:-1]) is keys.find("") is keys.find("é") is keys.find("a" * 100_000) is None
    assert first not in path.read_text() and second not in path.read_text()
    assert path.stat().st_mode & 0o077 == 0


def test_the_command_prints_a_key_once(tmp_path: Path):
    path = tmp_path / "keys.toml"
    done = call("serve", "new-key", "mastodon", "--keys", path, "--characters-per-month", 9)
    [key] = done.lines
    assert done.code == 0 and len(key) == 43
    found = read_keys(path).find(key)
    assert found and found.characters_per_month == 9
    again = call("serve", "new-key", "mastodon", "--keys", path)
    assert again.code == 2 and f"{path}: there is a key named mastodon; choose another name" in again.said


def test_text_around_the_keys_stays(tmp_path: Path):
    path = tmp_path / "keys.toml"
    path.write_text("# our keys\n")
    add_key(path, "a", {})
    assert path.read_text().startswith("# our keys\n\n[[key]]\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[[key]", "not valid TOML"),
        ('name = "a"', "'name' is not known there; each key is a table [[key]]"),
        ("key = 3", "write each key as a table [[key]]"),
        ('[[key]]\nnme = "a"', "key 1: unknown name 'nme'; did you mean name?"),
        (f'[[key]]\nsha256 = "{HASH}"', "key 1: `name` must have up to 64 letters"),
        ('[[key]]\nname = "a"\nsha256 = "12"', "key 1 (a): `sha256` must be 64 hexadecimal digits"),
        (
            f'[[key]]\nname = "a"\nsha256 = "{HASH}"\ncharacters_per_month = 0',
            "key 1 (a): characters_per_month must be a whole number of at least 1",
        ),
        (f'[[key]]\nname = "a"\nsha256 = "{HASH}"\n' * 2, "two keys are named a; give each its own name"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, problem: str):
    path = tmp_path / "keys.toml"
    path.write_text(text)
    with pytest.raises(ServeError) as refused:
        read_keys(path)
    assert str(refused.value).startswith(f"{path}: ") and problem in str(refused.value)


def test_a_missing_file_says_how_to_make_one(tmp_path: Path):
    with pytest.raises(ServeError, match="regard serve new-key NAME --keys"):
        read_keys(tmp_path / "none.toml")


@pytest.mark.parametrize("name", ["", "a b", "../x", 'a"\nb', "é", "a" * 65])
def test_names_are_plain(tmp_path: Path, name: str):
    with pytest.raises(ServeError, match="is no name for a key"):
        add_key(tmp_path / "keys.toml", name, {})
