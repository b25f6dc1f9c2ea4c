"""The environment and the script of every system that trains. This file imports nothing."""

TRAINERS = {
    "regard": ("regard", "train_regard.py"),
    "opennmt": ("opennmt", "train_opennmt.py"),
    "joeynmt": ("joeynmt", "train_joeynmt.py"),
    "eole": ("eole", "train_eole.py"),
    "marian": ("transformers", "train_transformers.py"),
    "torch": ("transformers", "train_torch.py"),
}
