"""Checks that both checkouts print the same JSON for `look`, `check`, `evaluate`, `score` and `measure`.

The commands use the bundled models and so little data that all of them together take a few minutes.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from comparison.checkout import Pair, Sessions
from comparison.corpus import Corpus
from comparison.items import Item, compared
from comparison.json_difference import first_difference, json_values, renamed

# For each bundled model, the sentences that `look` translates with it; ten in all.
SENTENCES: dict[str, tuple[str, ...]] = {
    "en-fr": (
        "The animal didn't cross the street because it was too tired.",
        "The animal didn't cross the street because it was too wide.",
        "I am a student.",
        "Where did you put my keys?",
        "My sister opened the old door, and the cat ran away.",
        "Unbelievable!",
        'He said: "It\'s 3.50 €" 🙂',
    ),
    "fr-en": (
        "Je suis étudiant.",
        "La porte est trop petite parce qu'elle est vieille.",
        "Qu'est-ce que tu as fait hier soir avec tes amis ?",
    ),
}
OTHER_MODEL = "another-model"
HEAD = "encoder.2.self.3"
INTERVENTIONS: dict[str, tuple[str, ...]] = {
    "as it is": ("--trace", HEAD, "--trace", "decoder.1.cross.2"),
    f"without {HEAD}": ("--without", HEAD),
    "without decoder.2.cross.4": ("--without", "decoder.2.cross.4"),
    "without positions": ("--without", "positions"),
    "without scaling": ("--without", "scaling", "--trace", HEAD),
    "with a given target": ("--target", "Un deux trois."),
}


def compare_reports(pair: Pair, corpus: Corpus) -> Iterator[Item]:
    """Run every command with both checkouts, and compare the JSON that they print."""
    with pair.sessions() as sessions:
        for name, words in INTERVENTIONS.items():
            count = sum(map(len, SENTENCES.values()))
            yield compared(f"look, {count} sentences {name}", partial(_look_difference, sessions, words))
        _write_other_model(pair.old.root, corpus.folder / OTHER_MODEL)
        for command, words in _commands(corpus):
            shown = " ".join(Path(word).name if word.startswith("../") else word for word in words)
            yield compared(f"{command} {shown}", partial(_difference, sessions, command, *words))


def _commands(corpus: Corpus) -> Iterator[tuple[str, tuple[str, ...]]]:
    checked, valid, test = map(corpus.path, ("checked.tsv", "checked-valid.tsv", "test.tsv"))
    # The number of steps is given, because otherwise `check` chooses it by the speed of the machine.
    yield "check", (checked, "--valid", valid, "--set", "train.steps=60", "--set", "tokenizer.vocab_size=600")
    yield "evaluate", (test,)
    yield "evaluate", (test, "--by-source", "--against", corpus.path(OTHER_MODEL), "--set", "decode.beam_size=1")
    yield "score", (test,)
    yield "measure heads", ("--count", "10")
    yield "measure heads", (test, "--count", "10")
    yield "measure pronouns", ("--count", "20")
    yield "measure probes", ("--count", "40")
    yield "measure alignment", ("--count", "20")
    yield "measure alignment", ("--model", "fr-en", "--count", "20")
    yield "measure alignment", (test,)


def _write_other_model(root: Path, folder: Path) -> None:
    """Copy the bundled model fr-en without its languages: Regard refuses to compare models of other directions."""
    bundled = next((root / "src" / "regard").rglob("fr-en/settings.json")).parent
    shutil.copytree(bundled, folder)
    settings = json.loads((bundled / "settings.json").read_text("utf-8"))
    unknown = {"directions": [[None, None]]} if "directions" in settings else {"languages": [None, None]}  # format 1
    data = json.dumps(settings | unknown).encode()
    (folder / "settings.json").write_bytes(data)
    manifest = json.loads((bundled / "manifest.json").read_text("utf-8"))
    manifest["settings.json"] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")


def _look_difference(sessions: Sessions, words: tuple[str, ...]) -> str | None:
    for model, texts in SENTENCES.items():
        for text in texts:
            found = _difference(sessions, "look", "--model", model, *words, text)
            if found is not None:
                return f"{text}: {found}"
    return None


def _difference(sessions: Sessions, command: str, *words: str) -> str | None:
    outputs = sessions.run(command, "--json", *words)
    checkouts = (sessions.pair.old, sessions.pair.new)
    old, new = (
        renamed(json_values(output), checkout.dialect) for output, checkout in zip(outputs, checkouts, strict=True)
    )
    if not old:
        return "the old checkout wrote no JSON"
    return first_difference(old, new)
