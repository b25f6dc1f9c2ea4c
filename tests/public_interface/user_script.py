"""A user's script, checked by mypy in strict mode: every public name has the type that its documentation says."""

from pathlib import Path

import regard


def translate(model: regard.Model) -> list[str]:
    one: regard.Translation = model.translate("I am a student.")
    several: list[regard.Translation] = model.translate(["I am a student.", "Thank you."])
    lines = [translation.text for translation in model.translate_iterable(["one", "two"])]
    greedy = model.translate("I am a student.", regard.DecodeSettings(beam_size=1))
    return [one.text, *(translation.text for translation in several), *lines, greedy.text]


def train(files: list[Path]) -> regard.Model:
    for event in regard.iter_train(files, out="my-model", steps=10):
        print(event)
    return regard.train(files, out="my-model", size="tiny", steps=10)


def score(model: regard.Model) -> float:
    references: list[regard.Translation] = regard.score(model, ["test.tsv"])
    bleu: float = regard.evaluate(model, ["test.tsv"]).scores.bleu
    return bleu + sum(reference.log_probability or 0.0 for reference in references)


def inspect(model: regard.Model) -> dict[str, object]:
    view: regard.View = model.look("I am a student.", without="encoder.1.self.1")
    view.save("look.html")
    print(view.attention("decoder.1.cross.1").values.shape, model.network.training)
    return view.to_dict()


def main() -> None:
    try:
        model = regard.load("my-model", compute_type="int8", backend="ctranslate2")
    except regard.UserError as error:
        raise SystemExit(str(error)) from error
    print(translate(model), score(model), inspect(model), regard.average(["a", "b"], out="mean").name)
