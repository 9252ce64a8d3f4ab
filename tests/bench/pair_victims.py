"""Victims of pairs whose weights are a formula: recorded outcomes need no file of weights."""

from pathlib import Path

import torch

from robustparse.types import Example
from textattack_victim import file_of, read_victim, untrained

DIM, HIDDEN, CLASSES = 4, 3, 3


def write_victim(path: Path, arch: str, pairs: list[Example]) -> None:
    """Write the file of a victim that knows the pairs' words and gives some of each label."""
    sentences = [pair.sentence for pair in pairs]
    words = sorted({word for one in sentences for word in (*one.context, *one.words)})
    saved = file_of(untrained(words, CLASSES, DIM, HIDDEN, seed=0, arch=arch))
    weights = saved["state_dict"]
    for number, name in enumerate(sorted(weights), start=1):
        places = torch.arange(weights[name].numel(), dtype=torch.float64)
        weights[name] = torch.sin(12.9898 * places + 78.233 * number).view_as(weights[name])
    weights["out.bias"].zero_()
    torch.save(saved, path)
    # Logits get mean 0 and deviation 1 over the pairs; else one label has them all.
    model = read_victim(path, torch.float64)
    with torch.no_grad():
        logits = model(model.encode(pairs).batch(range(len(pairs)), 1.0))
    weights["out.weight"] /= logits.std(0)[:, None]
    weights["out.bias"] -= logits.mean(0) / logits.std(0)
    torch.save(saved, path)
