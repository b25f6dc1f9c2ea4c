"""Make a model folder from the newest checkpoint of an unfinished run, to score it or to fine-tune it.

    python recipes/snapshot.py RUN_FOLDER OUT [CHECKPOINTS]

With CHECKPOINTS, the parameters of this number of newest checkpoints are averaged. The run is only read.
"""

import sys
from pathlib import Path

from regard.model_folder.writer import save_folder
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.training.checkpoints import Checkpoints
from regard.training.planning.plan import load_plan


def main() -> None:
    run, out = Path(sys.argv[1]) / "run", Path(sys.argv[2])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    plan, checkpoints = load_plan(run / "plan.json"), Checkpoints(run / "checkpoints")
    steps = [step for step in checkpoints.steps() if checkpoints.parameter_damage(step) is None][-count:]
    assert steps, f"{run} has no undamaged checkpoint"
    source, target = plan.request["languages"]
    tokenizer = SentencePieceTokenizer.load(run / "tokenizer" / "tokenizer.model")
    save_folder(
        out,
        settings=plan.settings.model,
        weights=checkpoints.average(steps).weights,
        tokenizer=tokenizer,
        languages=(source, target),
        card=f"# A snapshot of `{sys.argv[1]}` after step {steps[-1]:,}\n",
    )
    print(f"{out}: steps {', '.join(map(str, steps))}")


if __name__ == "__main__":
    main()
