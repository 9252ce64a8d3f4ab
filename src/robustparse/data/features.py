"""The analyses of a treebank's words: universal tags with morphological features (FEATS)."""

from functools import cache
from pathlib import Path

from robustparse.data.conllu import read_treebank
from robustparse.data.read_options import ReadOptions
from robustparse.data.vocab import Analysis, Vocabulary


@cache
def features_in(path: str) -> dict[str, frozenset[Analysis]]:
    """Return the words seen twice or more in a file, as `Vocabulary.training_features` has them.

    Raises:
        InputError: the file cannot be read.
    """
    examples = read_treebank(Path(path).expanduser(), ReadOptions(gold=False))
    return Vocabulary.from_examples(examples).training_features
