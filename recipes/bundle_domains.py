"""Turn a finished model of all domains into a bundled one: half precision, alignment, calibration, and its card.

    python recipes/bundle_domains.py FOLDER NAME     # writes src/regard/model_folder/bundled/NAME

FOLDER is the data folder of the direction, in which `main` and `model` are the runs of both stages. All scores are
those of the written folder. Then run `profiles.py`, and `licences.py NOTICE`.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bundle import CURVE, curve_rows, pronoun_section, store_alignment_head, write_half_precision
from calibrate import predict_file
from licences import card_section
from pronoun_history import pronoun_history, stage_of
from scores import score_model, tables

from regard.evaluation.calibration import fit_temperature
from regard.inference.translator_loader import load_translator
from regard.model_folder import bundled
from regard.model_folder.loader import open_folder
from regard.model_folder.writer import save_calibration
from regard.storage.atomic_files import write_atomically

Section = tuple[str, str]  # title and text

MADE = """\
These commands made this model; the second starts from the checkpoint after {steps} steps of the first:

    make -C recipes domain-data
    make -C recipes main-{name}
    make -C recipes decay-{name}
    python recipes/bundle_domains.py FOLDER {name}

Training took {hours:.1f} hours of steps. The first card section "Data" has the hashes of all files."""
RULES = """\
BLEU and chrF of sacreBLEU with one reference, beam size 4. No test sentence is in the training data, exactly or nearly
(recipes/decontamination.py). `recipes/content_rates.py` states when a translation omits, repeats or invents content;
the rate of the references is in brackets. In the second table, sentences are changed to what people type
(recipes/perturbations.py), source and reference alike, apart from characters that only the source has. The calibration
error is that of token probabilities at a temperature of {temperature:.3f}, with references as given translations."""
LIMITS = """\
The model is small. It makes mistakes in long sentences, in rare words and names, and in everything that is unlike its
training data, such as slang, poetry or medicine. It translates each line separately, so it does not know what "it" or
"they" refers to in another line. Where the source leaves a gender or a form of address open, it chooses the more
frequent one. French has straight apostrophes and an ordinary space before ? ! ; : and inside of « ». Have a person
check anything that matters."""


def main() -> None:
    data, name = Path(sys.argv[1]), sys.argv[2]
    run, folder = data / "model", bundled.HERE / name
    opened = open_folder(run)
    assert opened.languages == tuple(name.split("-")), f"{run} translates {opened.languages}"
    write_half_precision(opened, folder)
    store_alignment_head(folder)
    save_calibration(folder, fit_temperature(predict_file(open_folder(folder), data / "valid.tsv")))
    found = score_model(str(folder), data, str(folder))
    extra = [pronoun_section(load_translator(folder))] if name == "en-fr" else []
    write_atomically(folder / "card.md", card(data, name, found, open_folder(folder).calibration_temperature, extra))
    print(f"{folder}: {sum(file.stat().st_size for file in folder.iterdir()):,} bytes")


def card(data: Path, name: str, found: dict[str, Any], temperature: float, extra: Sequence[Section] = ()) -> str:
    """Return the card of the run of the last stage with all scores and more sections, each a title and a text."""
    before = (data / "model" / "card.md").read_text("utf-8").partition("## Licence")[0]
    sections = "\n\n".join(
        f"## {title}\n{text}" for title, text in [*_scores(found, temperature), *extra, *_history(data, name)]
    )
    return f"{before}{sections}\n\n{card_section()}"


def _scores(found: dict[str, Any], temperature: float) -> Iterator[Section]:
    yield "Scores on test sets", "\n".join(tables(found)) + "\n\n" + RULES.format(temperature=temperature)


def _history(data: Path, name: str) -> Iterator[Section]:
    rows = list(curve_rows([data / "main", data / "model"]))
    steps = [row.split("|")[2].strip() for row in rows if row.startswith("| main |")]
    hours = int(rows[-1].split("|")[3]) / 60
    yield "How it was made", MADE.format(name=name, steps=steps[-1], hours=hours)
    if name == "en-fr":
        yield "How it came to follow “it”", pronoun_history([stage_of(data / "main"), stage_of(data / "model")])
    yield "Learning curve", CURVE.format(rows="\n".join(rows))
    yield "Limits", LIMITS


if __name__ == "__main__":
    main()
