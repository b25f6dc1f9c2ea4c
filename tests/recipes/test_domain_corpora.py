"""The training data of all domains: nothing that is held out is in it, and it is the same in every run."""

import gzip
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from regard.data.synthetic import FAMOUS, is_famous

Script = Callable[[str], ModuleType]

NUMBERS = range(40)


@pytest.fixture
def shared(script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Small corpora in place of the real ones, which also have famous sentences and near duplicates."""
    data, domains = script("domain_corpora"), script("domains")

    def store(name: str, lines: list[str]) -> None:
        path = tmp_path / "shared" / f"{name}.tsv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress("".join(line + "\n" for line in lines).encode()))

    famous = [f"{en}\t{fr}" for en, fr in FAMOUS]
    store(
        "tatoeba/en-fr/train", [*famous, "We know it.\tNous le savons.", "You sit down!\tAsseyez-vous!", "Hi.\tSalut."]
    )
    store("tatoeba/en-fr/val", ["Be quiet now.\tTais-toi maintenant."])
    store("tatoeba/en-fr/test", ["Sit down, you!\tAssieds-toi !"])
    for domain in domains.DOMAINS:
        for source in domain.sources:
            pairs = [
                f"Farmer {n} of {source.file} sowed field {n} today.\tL'agriculteur {n} de {source.file} a semé {n}."
                for n in NUMBERS
            ]
            store(f"parallel-en-fr/{source.file}", [*famous, *pairs])
    small = tuple(domains.Domain(each.name, each.sources, 10, 5) for each in domains.DOMAINS)
    monkeypatch.setattr(data, "DOMAINS", small)
    monkeypatch.setattr(domains, "SHARED", tmp_path / "shared")
    monkeypatch.setattr(data, "TATOEBA", tmp_path / "shared" / "tatoeba" / "en-fr")
    monkeypatch.setattr(data, "SYNTHETIC", {"train": 40, "valid": 5})
    monkeypatch.setattr(data, "MINIMAL_PAIRS", 10)
    monkeypatch.setattr(data, "TYPED", dict.fromkeys(data.TYPED, 24))
    monkeypatch.setattr(data, "LETTER_LINES", 20)
    return data


def written(data: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(sys, "argv", ["domain_corpora.py", str(folder)])
    data.main()
    return {
        str(path.relative_to(folder)): [tuple(line.split("\t")) for line in path.read_text("utf-8").splitlines()]
        for path in sorted(folder.rglob("*.tsv"))
    }


def test_nothing_that_is_held_out_is_in_the_training_data(
    shared: ModuleType, script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = written(shared, tmp_path / "out", monkeypatch)
    words_of = script("decontamination").words_of
    training = {name: pairs for name, pairs in found.items() if "/test/" not in name and "valid" not in name}
    held_out = {name: pairs for name, pairs in found.items() if name not in training}
    texts = {words_of(text) for pairs in held_out.values() for pair in pairs for text in pair}
    assert len(texts) > 2 * 15 * len(shared.DOMAINS)
    for name, pairs in training.items():
        assert pairs, name
        for pair in pairs:
            assert not any(words_of(text) in texts or is_famous(text) for text in pair), (name, pair)
    # The held-out "Sit down, you!" has the words of "You sit down!" in another order.
    assert found["en-fr/everyday.tsv"] == [("We know it.", "Nous le savons."), ("Hi.", "Salut.")]
    assert found["en-fr/test/everyday.tsv"] == [("Sit down, you!", "Assieds-toi !")]


def test_both_directions_have_the_same_pairs_and_every_run_writes_the_same(
    shared: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (written(shared, tmp_path / name, monkeypatch) for name in ("first", "second"))
    assert first == second
    for name in first:
        if name.startswith("en-fr") and not name.endswith("typed.tsv"):
            assert [pair[::-1] for pair in first[name]] == first[name.replace("en-fr", "fr-en")]
    assert len({len(pairs) for name, pairs in first.items() if name.endswith("typed.tsv")}) == 1


def test_minimal_pairs_stay_on_consecutive_lines(
    shared: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = written(shared, tmp_path / "out", monkeypatch)["en-fr/minimal-pairs.tsv"]
    assert len(pairs) == 20
    for first, second in zip(pairs[::2], pairs[1::2], strict=True):
        words = [first[0].split(), second[0].split()]
        assert sum(a != b for a, b in zip(*words, strict=True)) == 1


def test_typography_is_that_of_the_card(script: Script) -> None:
    typography = script("domains").french_typography
    assert typography("L’heure\u00a0?") == typography("L'heure?") == typography("L'heure ?") == "L'heure ?"
    assert typography("Il dit:  «Viens\u202f!»") == "Il dit : « Viens ! »"
    assert typography("À 10:30, voir http://a.fr/?b;c") == "À 10:30, voir http://a.fr/?b;c"


PAIR = ('It\'s "here", Tom.', "C'est « ici », Tom.")


@pytest.mark.parametrize(
    ("name", "source", "changed"),
    [
        ("curly apostrophes and quotes", 0, ("It’s “here”, Tom.", PAIR[1])),
        ("curly apostrophes and quotes", 1, (PAIR[0], "C’est « ici », Tom.")),
        ("straight quotes", 0, None),
        ("straight quotes", 1, (PAIR[0], 'C\'est "ici", Tom.')),
        ("no space before ? ! ; :", 0, None),
        ("no final period", 0, ('It\'s "here", Tom', "C'est « ici », Tom")),
        ("lower case", 1, ('it\'s "here", tom.', "c'est « ici », tom.")),
        ("all capitals", 0, ('IT\'S "HERE", TOM.', "C'EST « ICI », TOM.")),
    ],
)
def test_perturbations(script: Script, name: str, source: int, changed: tuple[str, str] | None) -> None:
    assert script("perturbations").perturb(name, PAIR, source, lambda: PAIR) == changed


def test_each_perturbation_depends_on_the_seed_and_the_pair_only(script: Script) -> None:
    module = script("perturbations")
    pair = ("The bus is late again!", "Le bus est encore en retard !")
    for name in module.PERTURBATIONS:
        for source in (0, 1):
            assert module.perturb(name, pair, source, lambda: PAIR) == module.perturb(name, pair, source, lambda: PAIR)
    greeted = module.perturb("e-mail greeting", pair, 0, lambda: PAIR)
    assert greeted[0].lower().endswith(", the bus is late again!") and greeted[1].lower().endswith(
        ", le bus est encore en retard !"
    )
    spaced = module.perturb("no-break spaces", pair, 1, lambda: PAIR)
    assert spaced[0] == pair[0] and spaced[1] in {f"Le bus est encore en retard{space}!" for space in "\u00a0\u202f"}
