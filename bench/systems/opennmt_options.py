"""Options that OpenNMT-py and EOLE, its successor, share: the text, batches and optimizer."""

from typing import Any


def text(tokens: str) -> dict[str, Any]:
    """Return the paths of the tokenised text and the vocabulary."""
    return {
        "data": {
            "corpus": {"path_src": f"{tokens}/train.en", "path_tgt": f"{tokens}/train.de"},
            "valid": {"path_src": f"{tokens}/valid.en", "path_tgt": f"{tokens}/valid.de"},
        },
        "src_vocab": f"{tokens}/vocabulary",
        "tgt_vocab": f"{tokens}/vocabulary",
        "share_vocab": True,
        "report_every": 1_000,
    }


def training(job: dict[str, Any]) -> dict[str, Any]:
    """Return the options of batches and optimizer, without validation and checkpoints."""
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
