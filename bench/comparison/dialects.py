"""The two dialects: the names in the interface of Regard before and after a renaming.

All other files of the comparison use the new names of commands, flags, settings, methods and JSON keys. For a checkout
with the old names, the tables below translate commands to the old names, and its JSON to the new names.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

# For each setting with a new name, its old name.
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
    "tokenizer.vocab_size": "tokenizer.pieces",
    "train.label_smoothing": "train.smoothing",
    "train.max_grad_norm": "train.clip",
    "train.micro_batch_tokens": "train.micro_tokens",
    "train.minimal_pair_weight": "train.contrast",
    "train.warmup_steps": "train.warmup",
}

# For each command, flag and Python method with a new name, its old name.
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

# For each old JSON key, its new name. An entry such as "movers.other" applies only to the key "other" inside the value
# of "movers".
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

# JSON values that were renamed: for each old key, its old values and their new names.
RENAMED_VALUES: dict[str, dict[str, str]] = {
    "kind": {"sources nearly in training": "near duplicates of training sources"},
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

# JSON keys that did not exist before.
ADDED_KEYS: tuple[str, ...] = ("wanted_steps",)

# New keys whose values are sentences for people. The wording may differ; the numbers in them must be equal.
PROSE_KEYS: tuple[str, ...] = ("by", "data", "famous", "meaning", "reason", "verdict")

# New keys whose values are durations, which differ in every run. They only have to be numbers.
TIMING_KEYS: tuple[str, ...] = ("seconds",)


@dataclass(frozen=True)
class Dialect:
    """The names that one checkout uses for its interface, and how to translate them from and to the new names."""

    name: str
    settings: Mapping[str, str]
    commands: Mapping[str, str]
    flags: Mapping[str, str]
    methods: Mapping[str, str]
    keys: Mapping[str, str]
    values: Mapping[str, Mapping[str, str]]

    def words(self, command: str, *words: str) -> list[str]:
        """Return the words of a command in this dialect; `words` are its arguments, such as `--count` and `10`."""
        return [*self.commands.get(command, command).split(), *map(self._word, words)]

    def setting(self, name: str) -> str:
        """Return the name of a setting in this dialect, without its section."""
        return self.settings.get(name, name).partition(".")[2]

    def method(self, name: str) -> str:
        """Return the name of a Python method in this dialect."""
        return self.methods.get(name, name)

    def _word(self, word: str) -> str:
        name, equals, value = word.partition("=")
        return self.flags.get(word, self.settings.get(name, name) + equals + value)


OLD = Dialect("old", OLD_SETTINGS, OLD_COMMANDS, OLD_FLAGS, OLD_METHODS, RENAMED_KEYS, RENAMED_VALUES)
NEW = Dialect("new", {}, {}, {}, {}, {}, {})


def dialect_of(checkout: Path) -> Dialect:
    """Return the dialect of a checkout; only a checkout with the new names has the package `interpret`."""
    return NEW if (checkout / "src" / "regard" / "interpret").is_dir() else OLD


def table_lines() -> Iterator[str]:
    """Yield lines that list the renamed JSON keys and values, and the keys that are not compared exactly."""
    yield "JSON keys of the old interface and their new names:"
    yield from (f"  {old} -> {new}" for old, new in RENAMED_KEYS.items())
    labels = [(key, old, new) for key, table in RENAMED_VALUES.items() for old, new in table.items()]
    yield "JSON labels of the old interface and their new names:" + ("" if labels else " none")
    yield from (f"  {key}: {old} -> {new}" for key, old, new in labels)
    yield f"Keys that the new interface adds: {', '.join(ADDED_KEYS)}"
    yield f"Keys of sentences for people, of which only the numbers are compared: {', '.join(PROSE_KEYS)}"
    yield f"Keys of durations, of which only the type is compared: {', '.join(TIMING_KEYS)}"
