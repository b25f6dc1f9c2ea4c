"""How often does the pronoun experiment name a head that only reacts at random, and how often does it miss a real one?

Simulates models with 60 heads. In 500 of 1,000 minimal pairs from 23 frames, a head reacts to the cue: it prefers one
noun in one sentence and the other noun in the other sentence. Its direction is random in each pair, or the same in all
pairs of a frame, or, for a planted head, right in 60 % of pairs. The search for antecedent heads is that of
`regard measure pronouns`.
"""

import argparse

import numpy as np
import numpy.typing as npt

from regard.interpret.measure.antecedent_heads import QueryHead, p_values
from regard.statistics.intervals import proportion
from regard.statistics.multiplicity import SIGNIFICANCE_LEVEL

HEADS, PAIRS, CHANGED, FRAMES = 60, 1000, 500, 23

PREFERS_ANTECEDENT, PREFERS_DISTRACTOR = [[0.6, 0.2]] * 2, [[0.2, 0.6]] * 2
UNCHANGED = [[0.6, 0.2], [0.2, 0.6]]


def simulate_head(
    rng: np.random.Generator, right: float, frames: npt.NDArray[np.int64], *, by_frame: bool = False
) -> npt.NDArray[np.float64]:
    """Return the weights of a head on the two nouns in both sentences of each pair."""
    is_right = rng.random(FRAMES)[frames] < right if by_frame else rng.random(PAIRS) < right
    weights = np.where(is_right[:, None, None], PREFERS_ANTECEDENT, PREFERS_DISTRACTOR)
    weights[rng.permutation(PAIRS)[CHANGED:]] = UNCHANGED
    return np.asarray(weights)


def simulate_models(models: int, planted: float, *, by_frame: bool) -> npt.NDArray[np.bool_]:
    """Return, for each simulated model, whether the first head is named, and whether any other head is named."""
    rng, frames = np.random.default_rng(1), np.arange(PAIRS) % FRAMES
    named = []
    for _ in range(models):
        weights: dict[QueryHead, npt.NDArray[np.float64]] = {
            ("it", str(head)): simulate_head(rng, 0.5 if head else planted, frames, by_frame=by_frame)
            for head in range(HEADS)
        }
        first, *others = p_values(weights, [str(frame) for frame in frames]).values()
        named.append((first <= SIGNIFICANCE_LEVEL, min(others) <= SIGNIFICANCE_LEVEL))
    return np.array(named)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=1000)
    models = parser.parse_args().models
    for title, by_frame in (("in each pair", False), ("in each frame", True)):
        named = simulate_models(models, 0.5, by_frame=by_frame).any(axis=1)
        share = proportion(named, np.ones(models))
        print(f"all heads react at random {title}: models in which any head is named {share:.3f}", flush=True)
    named = simulate_models(models, 0.6, by_frame=False)
    found, others = (proportion(named[:, column], np.ones(models)) for column in (0, 1))
    print(f"one head is right in 60 % of {CHANGED} changed pairs: it is named {found:.3f}, another head {others:.3f}")


if __name__ == "__main__":
    main()
