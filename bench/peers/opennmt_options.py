"""What OpenNMT-py and EOLE, which came out of it, are told in the same words: the text, and how to learn from it."""

from typing import Any


def text(pieces: str) -> dict[str, Any]:
    """Where the text in pieces is, and the pieces."""
    return {
        "data": {
            "corpus": {"path_src": f"{pieces}/train.en", "path_tgt": f"{pieces}/train.de"},
            "valid": {"path_src": f"{pieces}/valid.en", "path_tgt": f"{pieces}/valid.de"},
        },
        "src_vocab": f"{pieces}/vocabulary",
        "tgt_vocab": f"{pieces}/vocabulary",
        "share_vocab": True,
        "report_every": 1_000,
    }


def learning(job: dict[str, Any]) -> dict[str, Any]:
    """Batches and optimizer; neither validation nor checkpoint comes in the way."""
    return {
        "dropout": [job["dropout"]],
        "attention_dropout": [0.0],
        "label_smoothing": 0.1,
        "optim": "adam",
        "adam_beta2": 0.98,
        "learning_rate": 1e-4,
        "max_grad_norm": 1,
        "batch_type": "tokens",
        "batch_size": job["tokens"],
        "batch_size_multiple": 1,
        "normalization": "tokens",
        "accum_count": [1],
        "bucket_size": 30_000,
        "num_workers": 0,
        "train_steps": 100_000,
        "valid_steps": 100_000,
        "save_checkpoint_steps": 100_000,
    }
