"""The devices that torch can use on this machine."""

import torch


def find_missing_gpu(device: str, default: str) -> str | None:
    """Return a text that says that this machine does not have the GPU, or None if it does or the device is no GPU.

    `default` is the value of the setting that the text recommends instead.
    """
    kind = device.partition(":")[0]  # "cuda" for "cuda:1"
    if kind == "cuda" and not torch.cuda.is_available():
        return (
            f"torch finds no CUDA GPU on this machine; leave the setting at {default}, or install torch with CUDA "
            "support"
        )
    if kind == "mps" and not torch.backends.mps.is_available():
        return f"torch finds no Apple GPU on this machine; leave the setting at {default}"
    return None
