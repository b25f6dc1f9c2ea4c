"""Make a model folder from the newest checkpoint of an unfinished run, to score it or to fine-tune it.

    python recipes/snapshot.py RUN_FOLDER OUT [--checkpoints COUNT] [--from PARENT]

With --checkpoints, the parameters of this number of newest checkpoints are averaged. A run that fine-tunes a model has
no tokenizer of its own, so --from names that model. The run is only read.
"""

import argparse
from pathlib import Path

from regard.model_folder.writer import save_folder
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.training.checkpoints import Checkpoints
from regard.training.planning.plan import load_plan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--checkpoints", type=int, default=1, metavar="COUNT")
    parser.add_argument("--from", type=Path, dest="parent")
    options = parser.parse_args()
    run, out = options.run / "run", options.out
    plan, checkpoints = load_plan(run / "plan.json"), Checkpoints(run / "checkpoints")
    steps = [step for step in checkpoints.steps() if checkpoints.parameter_damage(step) is None][-options.checkpoints :]
    assert steps, f"{options.run} has no undamaged checkpoint"
    source, target = plan.request["languages"]
    tokenizer = SentencePieceTokenizer.load((options.parent or run / "tokenizer") / "tokenizer.model")
    save_folder(
        out,
        settings=plan.settings.model,
        weights=checkpoints.average(steps).weights,
        tokenizer=tokenizer,
        languages=(source, target),
        card=f"# A snapshot of `{options.run}` after step {steps[-1]:,}\n",
    )
    print(f"{out}: steps {', '.join(map(str, steps))}")


if __name__ == "__main__":
    main()
