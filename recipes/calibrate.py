"""Fit the temperature for reported probabilities on validation pairs, store it in a model folder, and measure it.

    python recipes/calibrate.py MODEL VALID.tsv TEST.tsv...

Prints the temperature, and the expected calibration error of each file without and with it
(docs/how-to/translating.md).
"""

import sys
from pathlib import Path

from regard.data.formats.pairs import read_references
from regard.evaluation.calibration import Predictions, calibration_error, fit_temperature, predict_references
from regard.model_folder.folder import ModelFolder
from regard.model_folder.loader import open_folder
from regard.model_folder.writer import save_calibration
from regard.models.interface import as_autoregressive


def main() -> None:
    folder = open_folder(Path(sys.argv[1]))
    valid, *tests = map(Path, sys.argv[2:])
    fitted = predict_file(folder, valid)
    temperature = fit_temperature(fitted)
    save_calibration(folder.path, temperature)
    print(f"temperature {temperature:.3f}, stored in {folder.path}")
    print("| pairs | tokens | most probable token right | error without | error with the temperature |")
    print("|---|---|---|---|---|")
    for path, predictions in [(valid, fitted), *((test, predict_file(folder, test)) for test in tests)]:
        without, with_it = calibration_error(predictions), calibration_error(predictions, temperature)
        right = 100 * predictions.is_right.mean()
        print(f"| {path.stem} | {len(predictions.is_right):,} | {right:.1f} % | {without:.3f} | {with_it:.3f} |")


def predict_file(folder: ModelFolder, path: Path) -> Predictions:
    pairs = [(source, references[0]) for source, references in read_references([path])]
    return predict_references(as_autoregressive(folder.build()), folder.tokenizer, pairs)


if __name__ == "__main__":
    main()
