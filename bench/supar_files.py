"""Files that both sides of ``vs_supar.py`` read and write, and the score of parses in them."""

from pathlib import Path

import numpy as np

from robustparse.data.conllu import ENDINGS, blocks, is_word
from robustparse.data.splits import find_split
from robustparse.files.reading import read_text
from robustparse.files.writing import write_text
from robustparse.metrics import percent, tree_sums
from robustparse.types import DependencyTree

SPLITS = ("train", "dev", "test")


def penn_copies(folder: Path, target: Path) -> dict[str, Path]:
    """Return copies with the same tags in columns 4 and 5: SuPar reads them in 4, ours in 5.

    They are those of column 5, or of column 4 for a word with none there.
    """
    copies = {}
    for split in SPLITS:
        lines = read_text(find_split(folder, split, ENDINGS)).split("\n")
        for index, line in enumerate(lines):
            if is_word(line):
                columns = line.split("\t")
                tag = columns[3] if columns[4] == "_" else columns[4]
                lines[index] = "\t".join([*columns[:3], tag, tag, *columns[5:]])
        copies[split] = target / f"{split}.conllu"
        write_text(copies[split], "\n".join(lines))
    return copies


def las(predicted: Path, gold: Path) -> float:
    """Percent of all words with the right head and label; both files hold the same sentences."""
    correct = words = 0
    for guess, truth in zip(_trees(predicted), _trees(gold), strict=True):
        every = np.ones(len(truth.heads), dtype=np.bool_)
        correct += tree_sums(guess, truth, every)["correct_labels"]
        words += len(every)
    return percent(correct, words)


def _trees(path: Path) -> list[DependencyTree]:
    trees = []
    for _, block in blocks(path):
        rows = [line.split("\t") for line in block if is_word(line)]
        trees.append(DependencyTree(tuple(int(r[6]) for r in rows), tuple(r[7] for r in rows)))
    return trees
