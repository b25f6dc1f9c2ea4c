"""Score a model on all domains, on text as people type it, and on what must not go wrong; print tables, store JSON.

    python recipes/scores.py MODEL FOLDER [SCORES.json] [REFERENCE_MODEL]

MODEL is a model folder or the name of a bundled model, and FOLDER what `domain_corpora.py` wrote for its direction.
REFERENCE_MODEL is the model whose speed is compared. BLEU is that of sacreBLEU with its defaults, beam size 4.
"""

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from content_rates import Lexicon, content_rates
from domains import TextPair
from perturbations import ENGLISH, FRENCH, PERTURBATIONS, perturb

from regard.data.synthetic.generator import minimal_pairs
from regard.evaluation.calibration import calibration_error, predict_references
from regard.evaluation.kept_content import kept_content
from regard.evaluation.scores import Scorer
from regard.inference.result import Translation
from regard.inference.translator import Translator
from regard.inference.translator_loader import load_translator
from regard.interpret.measure.pronoun_experiment import pronouns_correct
from regard.model_folder.loader import open_folder
from regard.models.interface import as_autoregressive
from regard.spans.patterns import find_spans

sys.path.append(str(Path(__file__).parents[1]))
from tests.model_folder.test_famous_sentences import TO_ENGLISH, TO_FRENCH, accepted

PROTECTED = Path(__file__).parents[1] / "bench" / "workloads" / "protected_spans.tsv"
PERTURBED = 50  # pairs of each domain
CALIBRATED = 300  # pairs of each domain
MINIMAL_PAIRS = {"test": 300, "noun-pairs": 300, "noun-words": 100}
SEED = 7  # not that of the training pairs
TIMED = 25  # sentences of each domain
ROUNDS = 3
LEXICON_DOMAINS = ("everyday", "debates", "public-service", "software", "guides", "stories", "dialogue", "statutes")


def main() -> None:
    model, folder = sys.argv[1], Path(sys.argv[2])
    reference = sys.argv[4] if len(sys.argv) > 4 else model
    found = score_model(model, folder, reference)
    print(f"{model}\n", *tables(found), sep="\n")
    if len(sys.argv) > 3:
        Path(sys.argv[3]).write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", "utf-8")


def score_model(model: str, folder: Path, reference: str) -> dict[str, Any]:
    """Return all scores of a model, with its speed beside that of a reference model. Takes some minutes."""
    if hasattr(os, "sched_setaffinity"):  # everything runs on one core
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    tests = {path.stem: read_tsv(path) for path in sorted((folder / "test").glob("*.tsv"))}
    opened = open_folder(Path(model))
    translator = load_translator(opened.path)
    found: dict[str, Any] = {"model": model, "languages": list(opened.languages)}
    translated = {name: translator.translate([source for source, _ in test]) for name, test in tests.items()}
    lexicon = Lexicon([pair for name in LEXICON_DOMAINS for pair in read_tsv(folder / f"{name}.tsv")])
    network = as_autoregressive(opened.build())
    found["domains"] = {
        name: {
            "sentences": len(test),
            **bleu_and_chrf(texts(translated[name]), [[target] for _, target in test]),
            "calibration_error": calibration_error(
                predict_references(network, opened.tokenizer, test[:CALIBRATED]), opened.calibration_temperature
            ),
            **asdict(content_rates(lexicon, *zip(*with_texts(test, texts(translated[name])), strict=True))),
            "references": asdict(
                content_rates(lexicon, *zip(*with_texts(test, [target for _, target in test]), strict=True))
            ),
        }
        for name, test in tests.items()
    }
    found["everyday, all references"] = all_references(tests["everyday"], texts(translated["everyday"]))
    found["kept"] = {"sentences with protected spans": protected(translator, str(opened.languages[0]))}
    found["kept"] |= kept(tests, translated)
    side = ENGLISH if opened.languages[0] == "en" else FRENCH
    found["perturbations"] = dict(perturbed_scores(translator, tests, side))
    found["famous"] = famous(translator, side)
    if side == ENGLISH:
        found["minimal pairs"] = dict(pronoun_scores(translator))
    found["speed"] = speed(translator, load_translator(reference), tests)
    return found


def read_tsv(path: Path) -> list[TextPair]:
    """Return the source and the target of each line."""
    lines = path.read_text("utf-8").splitlines()
    return [(source, target) for source, target in (line.split("\t") for line in lines)]


def texts(translations: Sequence[Translation]) -> list[str]:
    return [translation.text for translation in translations]


def with_texts(test: Sequence[TextPair], outputs: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    return ((source, output, target) for (source, target), output in zip(test, outputs, strict=True))


def bleu_and_chrf(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, float]:
    scorer = Scorer(references, names=("bleu", "chrf"))
    return scorer.metric_scores(list(scorer.statistics(outputs)))


def all_references(test: Sequence[TextPair], outputs: Sequence[str]) -> dict[str, float]:
    """Score each distinct source against all its references."""
    references: dict[str, list[str]] = {}
    output_of: dict[str, str] = {}
    for (source, target), output in zip(test, outputs, strict=True):
        references.setdefault(source, []).append(target)
        output_of[source] = output
    return {"sentences": len(references), **bleu_and_chrf(list(output_of.values()), list(references.values()))}


def kept(tests: dict[str, list[TextPair]], translated: dict[str, list[Translation]]) -> dict[str, list[int]]:
    """Return how many spans and numbers the translations keep."""
    rows = [row for name in tests for row in zip(tests[name], translated[name], strict=True)]
    sources, references = [pair[0] for pair, _ in rows], [[pair[1]] for pair, _ in rows]
    counts = kept_content(sources, [translation.text for _, translation in rows], references)
    return {f"{each.name} kept": [each.kept, each.total] for each in counts}


def protected(translator: Translator, language: str) -> list[int]:
    """Return in how many sentences of bench/check_protected_spans.py the model keeps all spans in place."""
    rows = [line.split("\t") for line in PROTECTED.read_text("utf-8").splitlines()]
    translations = translator.translate([text for of, _, text in rows if of == language])
    exact = [
        all(one.text.count(span.text) >= one.source.count(span.text) for span in find_spans(one.source))
        and not any(warning.kind == "lost span" for warning in one.warnings)
        for one in translations
    ]
    return [sum(exact), len(exact)]


def perturbed_scores(
    translator: Translator, tests: dict[str, list[TextPair]], side: int
) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield for each perturbation the BLEU of perturbed pairs, and that of the same pairs before."""
    # In the order of `perturbations`: English first.
    pairs = [pair[:: 1 if side == ENGLISH else -1] for test in tests.values() for pair in test[:PERTURBED]]
    plain = dict.fromkeys(pair[side] for pair in pairs)
    outputs = dict(zip(plain, texts(translator.translate(list(plain))), strict=True))
    for name in PERTURBATIONS:
        before: list[list[TextPair]] = []  # the pairs that become one perturbed pair
        after: list[TextPair] = []
        remaining = iter(pairs)
        for pair in remaining:
            used = [pair]

            def more(used: list[TextPair] = used, remaining: Iterator[TextPair] = remaining) -> TextPair:
                used.append(next(remaining, pairs[0]))
                return used[-1]

            changed = perturb(name, pair, side, more)
            if changed is not None:
                before.append(used)
                after.append(changed)
        if after:
            joined = [" ".join(outputs[pair[side]] for pair in used) for used in before]
            expected = [[" ".join(pair[1 - side] for pair in used)] for used in before]
            changed_outputs = texts(translator.translate([pair[side] for pair in after]))
            yield (
                name,
                {
                    "sentences": len(after),
                    "bleu_before": bleu_and_chrf(joined, expected)["bleu"],
                    "bleu": bleu_and_chrf(changed_outputs, [[pair[1 - side]] for pair in after])["bleu"],
                },
            )


def famous(translator: Translator, side: int) -> dict[str, Any]:
    """Return how many famous sentences are translated as tests/model_folder/test_famous_sentences.py accepts."""
    wanted = TO_FRENCH if side == ENGLISH else TO_ENGLISH
    outputs = dict(zip(wanted, texts(translator.translate(list(wanted))), strict=True))
    wrong = {source: text for source, text in outputs.items() if text.replace("’", "'") not in accepted(wanted[source])}
    return {"right": len(wanted) - len(wrong), "sentences": len(wanted), "wrong": wrong}


def pronoun_scores(translator: Translator) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the proportion of held-out minimal pairs in which both pronouns are right."""
    for split, count in MINIMAL_PAIRS.items():
        pairs = list(islice(minimal_pairs(SEED, split), count))
        right = pronouns_correct(pairs, lambda sources: texts(translator.translate(list(sources))))
        yield split, {"pairs": count, "both_right": float(right.mean())}


def speed(translator: Translator, reference: Translator, tests: dict[str, list[TextPair]]) -> dict[str, float]:
    """Return sentences per second of processor time on one core, and the ratio to the reference model."""
    sources = [source for test in tests.values() for source, _ in test[:TIMED]]
    seconds: dict[str, list[float]] = {"model": [], "reference": []}
    for _ in range(ROUNDS):
        for name, one in (("model", translator), ("reference", reference)):
            start = time.process_time()
            one.translate(sources)
            seconds[name].append(time.process_time() - start)
    own, other = (sorted(each)[ROUNDS // 2] for each in seconds.values())
    return {"sentences": len(sources), "sentences_per_second": len(sources) / own, "ratio": other / own}


def tables(found: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of all tables."""
    yield ("| test set | sentences | BLEU | chrF | calibration error | omits | repeats | invents (references) |")
    yield ("|---|---|---|---|---|---|---|---|")
    for name, row in found["domains"].items():
        rates = " | ".join(f"{100 * row[kind]:.1f} %" for kind in ("omitted", "repeated", "invented"))
        yield (
            f"| {name} | {row['sentences']:,} | {row['bleu']:.1f} | {row['chrf']:.1f} | {row['calibration_error']:.3f} "
            f"| {rates} ({100 * row['references']['invented']:.1f} %) |"
        )
        if name == "everyday":
            several = found["everyday, all references"]
            yield (
                f"| everyday, all references | {several['sentences']:,} | {several['bleu']:.1f} | "
                f"{several['chrf']:.1f} | | | | |"
            )
    yield ("\n| text as people type it | sentences | BLEU before | BLEU | difference |\n|---|---|---|---|---|")
    for name, row in found["perturbations"].items():
        difference = row["bleu"] - row["bleu_before"]
        yield (f"| {name} | {row['sentences']} | {row['bleu_before']:.1f} | {row['bleu']:.1f} | {difference:+.1f} |")
    yield ("\n| what must not go wrong | right | of | |\n|---|---|---|---|")
    for name, (right, total) in found["kept"].items():
        yield (f"| {name} | {right:,} | {total:,} | {100 * right / max(1, total):.1f} % |")
    for split, row in found.get("minimal pairs", {}).items():
        yield (f"| minimal pairs ({split}) | | {row['pairs']} | {100 * row['both_right']:.1f} % |")
    yield (f"| famous sentences | {found['famous']['right']} | {found['famous']['sentences']} | |")
    yield (
        f"\n{found['speed']['sentences_per_second']:.1f} sentences per second of one core "
        f"({found['speed']['ratio']:.2f} times the reference model)"
    )


if __name__ == "__main__":
    main()
