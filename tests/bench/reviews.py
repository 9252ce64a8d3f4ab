"""Four-word reviews to train and attack a classifier on, and synonyms for some of their words."""

from itertools import product
from pathlib import Path

GOOD, BAD, NEUTRAL = ("fine", "lovely"), ("awful", "dull"), ("film", "plot", "scene", "tale")
SYNONYMS = {
    **{word: ["weak", *sorted(set(GOOD) - {word})] for word in GOOD},
    **{word: ["weak", *sorted(set(BAD) - {word})] for word in BAD},
    "film": ["movie"],
}


def corpus(folder: Path) -> Path:
    """Four-word reviews; every word of them is in both files."""
    lines = [
        f"the {noun} is {word} {word} .\t{label}\n"
        for label, words in (("1", GOOD), ("0", BAD))
        for noun, word in product(NEUTRAL, words)
    ]
    for name, count in (("train.tsv", 8), ("test.tsv", 1)):
        (folder / name).write_text("".join(lines) * count, encoding="utf-8")
    return folder
