"""The built-in sample of tagged sentences: the sample treebank with a grammatical function a word.

The tag of a word is its dependency label. As in the treebank, the lexical class of a word decides
some of them: a tool after "with" is an oblique of the verb, a part a modifier of the noun.
"""

from dataclasses import replace
from functools import lru_cache

from robustparse.data.sample.generator import SPLITS, Sample
from robustparse.data.sample.treebank import sample_treebank
from robustparse.types import Example, TagSequence


@lru_cache(maxsize=4)
def sample_tags(seed: int = 0) -> Sample:
    """Return the sample treebank of a seed with tags instead of trees."""
    treebank = sample_treebank(seed)
    return Sample(**{split: [*map(_tagged, treebank.split(split))] for split in SPLITS})


def _tagged(example: Example) -> Example:
    return replace(example, gold=TagSequence(example.gold.labels))
