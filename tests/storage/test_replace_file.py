"""Replacing a file that a manifest lists: whenever the process dies, the folder is valid."""

from pathlib import Path

import pytest

from regard.storage.manifest import find_damage, replace_file, write_manifest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a").write_text("old a")
    (tmp_path / "b").write_text("old b")
    write_manifest(tmp_path, ["a", "b"])
    return tmp_path


def test_a_replaced_file_has_a_new_entry(folder: Path) -> None:
    replace_file(folder, "a", "new content of a")
    assert (folder / "a").read_text() == "new content of a"
    assert find_damage(folder) is None
    (folder / "a").write_text("old a")
    assert find_damage(folder) is not None  # only the new content is accepted from now on


@pytest.mark.parametrize("renames", range(3))
def test_the_folder_is_valid_whenever_the_process_dies(
    folder: Path, monkeypatch: pytest.MonkeyPatch, renames: int
) -> None:
    done = 0
    replace = Path.replace

    def die(self: Path, target: Path) -> Path:
        nonlocal done
        if done == renames:
            raise KeyboardInterrupt
        done += 1
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", die)
        with pytest.raises(KeyboardInterrupt):
            replace_file(folder, "a", "new content of a")
    assert find_damage(folder) is None
    assert (folder / "a").read_text() == ("new content of a" if renames == 2 else "old a")
    replace_file(folder, "a", "newer content of a")
    assert find_damage(folder) is None and (folder / "a").read_text() == "newer content of a"


def test_the_folder_is_valid_after_two_crashes_before_the_file_is_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("regard.storage.manifest.write_atomically", _die)
        for text in ("new content of a", "newer content of a"):
            with pytest.raises(KeyboardInterrupt):
                replace_file(folder, "a", text)
            assert find_damage(folder) is None
    replace_file(folder, "a", "newest content of a")
    assert find_damage(folder) is None and (folder / "a").read_text() == "newest content of a"


def test_other_content_is_damage_while_a_file_is_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("regard.storage.manifest.write_atomically", _die)
        with pytest.raises(KeyboardInterrupt):
            replace_file(folder, "a", "new content of a")
    (folder / "a").write_text("odd a")
    assert find_damage(folder) == f"{folder / 'a'} was changed after it was written (its SHA-256 differs)"


def _die(path: Path, content: bytes) -> None:
    raise KeyboardInterrupt
