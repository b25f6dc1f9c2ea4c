"""The card of a bundled model has its scores, its curve, its limits and all licences."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType


def test_the_card_has_all_sections(script: Callable[[str], ModuleType], tmp_path: Path) -> None:
    for number, name in enumerate(("main", "model"), start=1):
        (tmp_path / name / "run").mkdir(parents=True)
        log: list[dict[str, float]] = [{"step": step, "seconds": 1800} for step in (1, 2)]
        log.append({"step": 2, "validation_loss": 1.5, "bleu": 20 + number, "chrf": 40})
        plan = {
            "request": {"training data": [[{"name": "everyday.tsv"}], [{"name": "minimal-pairs.tsv"}]]},
            "settings": {"train": {"minimal_pair_weight": 0.0 if name == "main" else 5.0}},
        }
        (tmp_path / name / "run" / "plan.json").write_text(json.dumps(plan), "utf-8")
        (tmp_path / name / "run" / "log.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in log), "utf-8")
    (tmp_path / "model" / "card.md").write_text("# A translator\n\n## Data\n- a\n\n## Licence\nFill in.\n", "utf-8")
    rates = {"omitted": 0.01, "repeated": 0.0, "invented": 0.02}
    found = {
        "domains": {
            "everyday": {
                "sentences": 9,
                "bleu": 45.0,
                "chrf": 60.0,
                "calibration_error": 0.02,
                **rates,
                "references": rates,
            }
        },
        "everyday, all references": {"sentences": 7, "bleu": 51.0, "chrf": 66.0},
        "kept": {"numbers kept": [99, 100]},
        "perturbations": {"lower case": {"sentences": 5, "bleu_before": 30.0, "bleu": 29.0}},
        "famous": {"right": 11, "sentences": 11},
        "minimal pairs": {"test": {"pairs": 300, "both_right": 0.97}},
        "speed": {"sentences_per_second": 30.0, "ratio": 0.5},
    }
    card = script("bundle_domains").card(tmp_path, "en-fr", found, 1.25)
    titles = [
        "Data",
        "Scores on test sets",
        "How it was made",
        "How it came to follow “it”",
        "Learning curve",
        "Limits",
    ]
    titles.append("Licence")
    assert [line.removeprefix("## ") for line in card.splitlines() if line.startswith("## ")] == titles
    for row in (
        "| everyday | 9 | 45.0 | 60.0 | 0.020 | 1.0 % | 0.0 % | 2.0 % (2.0 %) |",
        "| lower case | 5 | 30.0 | 29.0 | -1.0 |",
        "| minimal pairs (test) | | 300 | 97.0 % |",
        "| numbers kept | 99 | 100 | 99.0 % |",
        "| model | 2 | 120 | 1.500 | 22.0 | 40.0 |",
    ):
        assert row in card.splitlines()
    assert "The run `model` trained on everyday.tsv and minimal-pairs.tsv, with 5 times the loss weight" in card
    assert "1.250" in card and "after 2 steps" in card and "2.0 hours" in card and "Fill in" not in card
