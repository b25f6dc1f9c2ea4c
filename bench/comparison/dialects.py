"""The interface before the rename and since, as two dialects: the only file of the comparison that knows both.

Everywhere else commands, flags, settings, methods and JSON keys are written by their new names. A checkout that speaks
the old dialect gets its commands translated by the tables below, and its JSON is renamed before it is compared.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

# Settings: the new name, and the old one.
OLD_SETTINGS: dict[str, str] = {
    "decode.alignment": "decode.links",
    "decode.beam_size": "decode.beams",
    "decode.length_penalty": "decode.alpha",
    "decode.max_length": "decode.longest",
    "decode.max_length_offset": "decode.extra",
    "decode.min_length": "decode.shortest",
    "decode.n_best": "decode.best",
    "decode.no_repeat_ngram_size": "decode.no_repeat",
    "model.max_positions": "model.longest",
    "model.vocab_size": "model.vocabulary",
    "tokenizer.vocab_size": "tokenizer.pieces",
    "train.label_smoothing": "train.smoothing",
    "train.max_grad_norm": "train.clip",
    "train.micro_batch_tokens": "train.micro_tokens",
    "train.minimal_pair_weight": "train.contrast",
    "train.warmup_steps": "train.warmup",
}

# Commands, flags and Python methods: the new name, and the old one.
OLD_COMMANDS: dict[str, str] = {
    "measure probes": "measure layers",
    "measure pronouns": "measure it",
    "score": "evaluate --scores",
}
OLD_FLAGS: dict[str, str] = {
    "--compute-type": "--fast",
}
OLD_METHODS: dict[str, str] = {
    "translate": "translate_all",
    "translate_iterable": "stream",
}

# JSON keys: the old name, and the new one. A key that has another meaning below some other key is written with that
# other key, by its old name, in front of it: "movers.other".
RENAMED_KEYS: dict[str, str] = {
    "answers": "role_scores",
    "antecedent": "antecedent_weight",
    "beyond": "significant",
    "both": "pair_accuracy",
    "commonest": "majority",
    "each": "selection_errors",
    "evenness": "normalised_entropy",
    "follows": "translation_pair_accuracy",
    "found": "accuracy",
    "guesses": "baselines",
    "it → noun": "it → antecedent",
    "links": "alignment",
    "longest": "maximum",
    "longest_in_20": "p95",
    "looks": "best_encoder_head",
    "mark": "special_token_weight",
    "movers": "antecedent_heads",
    "movers.other": "distractor_weight",
    "moves": "pair_accuracy",
    "part": "split",
    "parts": "splits",
    "piece": "token",
    "pieces": "tokens",
    "pieces_per_second": "tokens_per_second",
    "place": "query",
    "right": "accuracy",
    "vocabulary": "vocab_size",
    "whole": "unablated",
    "whole_text": "full_model_text",
    "worth": "ablation_effect",
}

# Labels among the JSON values: the old key under which they stand, and for each old label the new one.
RENAMED_VALUES: dict[str, dict[str, str]] = {
    "looks": {"decider": "cue"},
    "name": {
        "as many others removed": "as many other heads removed",
        "forced to the other noun": "forced to the distractor",
        "forced to the right noun": "forced to the antecedent",
        "the deciding word alone": "the cue alone",
    },
    "place": {"decider": "cue"},
    "role": {"it → noun": "it → antecedent"},
}

# The new keys of sentences written for people. Their wording may change; the numbers in them may not.
PROSE_KEYS: tuple[str, ...] = ("by", "data", "famous", "meaning", "reason", "verdict")

# The new keys of durations, which no two runs share. Both must have a number there.
TIMING_KEYS: tuple[str, ...] = ("seconds",)


@dataclass(frozen=True)
class Dialect:
    """How one checkout writes what the comparison knows by its new name."""

    name: str
    settings: Mapping[str, str]
    commands: Mapping[str, str]
    flags: Mapping[str, str]
    methods: Mapping[str, str]
    keys: Mapping[str, str]
    values: Mapping[str, Mapping[str, str]]

    def words(self, command: str, *words: str) -> list[str]:
        """Translate a command with its arguments, such as `measure pronouns` with `--count` and `10`."""
        return [*self.commands.get(command, command).split(), *map(self._word, words)]

    def setting(self, name: str) -> str:
        """Return the name of a setting without its section."""
        return self.settings.get(name, name).partition(".")[2]

    def method(self, name: str) -> str:
        """Return the name of a Python method."""
        return self.methods.get(name, name)

    def _word(self, word: str) -> str:
        name, equals, value = word.partition("=")
        return self.flags.get(word, self.settings.get(name, name) + equals + value)


OLD = Dialect("old", OLD_SETTINGS, OLD_COMMANDS, OLD_FLAGS, OLD_METHODS, RENAMED_KEYS, RENAMED_VALUES)
NEW = Dialect("new", {}, {}, {}, {}, {}, {})


def dialect_of(checkout: Path) -> Dialect:
    """Return the dialect that a checkout speaks, which its packages show."""
    return NEW if (checkout / "src" / "regard" / "interpret").is_dir() else OLD


def table_lines() -> Iterator[str]:
    """List what is renamed in the JSON of the old dialect, and what is not compared exactly."""
    yield "JSON keys of the old interface and their new names:"
    yield from (f"  {old} -> {new}" for old, new in RENAMED_KEYS.items())
    labels = [(key, old, new) for key, table in RENAMED_VALUES.items() for old, new in table.items()]
    yield "JSON labels of the old interface and their new names:" + ("" if labels else " none")
    yield from (f"  {key}: {old} -> {new}" for key, old, new in labels)
    yield f"Keys of sentences for people, of which only the numbers are compared: {', '.join(PROSE_KEYS)}"
    yield f"Keys of durations, of which only the type is compared: {', '.join(TIMING_KEYS)}"
