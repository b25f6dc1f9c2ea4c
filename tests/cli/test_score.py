"""`regard score`: log-probabilities of references."""

import json
from pathlib import Path

import pytest
from tests.cli.runner import SOURCES, call, write

import regard


def test_score_gives_the_log_probability_of_each_reference(
    model: Path, translations: list[str], tmp_path: Path
) -> None:
    pairs = [*zip(SOURCES, translations, strict=True), ("a bo", "zzz ½"), ("a bo", "")]
    tsv = write(tmp_path / "test.tsv", ["\t".join(pair) for pair in pairs])
    done = call("score", "--model", model, tsv)
    assert done.code == 0, done.said
    wanted = list(regard.load(model, backend="torch").score(pairs))
    assert [tuple(line.split("\t")[1:]) for line in done.lines] == pairs
    numbers = [float(line.split("\t")[0]) for line in done.lines]
    assert numbers == pytest.approx([one.log_probability for one in wanted], abs=1e-3)
    tokens = sum(len(one.log_probabilities) for one in wanted)
    mean = sum(sum(one.log_probabilities) for one in wanted) / tokens
    assert done.said == f"6 pairs, {tokens} tokens with EOS: mean log-probability of a token {mean:.4f}\n"
    told = [json.loads(line) for line in call("score", "--model", model, tsv, "--json").lines]
    assert [one["tokens"] for one in told] == [list(one.tokens) for one in wanted]
    for one, other in zip(told, wanted, strict=True):
        assert one["log_probabilities"] == pytest.approx(other.log_probabilities, abs=1e-4)


def test_each_of_several_references_has_its_own_line(model: Path, tmp_path: Path) -> None:
    tsv = write(tmp_path / "test.tsv", ["a bo\tbo a\tcat", "dog\telf\tdog"])
    done = call("score", "--model", model, tsv)
    assert [line.split("\t")[1:] for line in done.lines] == [
        ["a bo", "bo a"],
        ["a bo", "cat"],
        ["dog", "elf"],
        ["dog", "dog"],
    ]


def test_a_setting_that_does_not_change_a_score_is_refused(model: Path, tmp_path: Path) -> None:
    pairs = write(tmp_path / "pairs.tsv", ["one\tun"])
    for setting in ("beam_size=2", "log_probabilities=true"):
        done = call("score", "--model", model, pairs, "--set", f"decode.{setting}")
        name = setting.partition("=")[0]
        assert (done.code, done.said) == (
            2,
            f"error: decode.{name} has no effect on given translations; leave it out\n",
        )
