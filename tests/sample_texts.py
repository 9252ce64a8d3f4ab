"""A small classifier trained for a few steps on sample reviews, and attacks that can fool it."""

import copy
from functools import lru_cache
from pathlib import Path
from typing import Any

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.data.sample.reviews import review_lexicon, sample_reviews
from robustparse.data.vocab import Vocabulary
from robustparse.models.classification.cnn import WordCNN
from robustparse.models.encoders.word_embeddings import WordEmbeddings
from robustparse.tasks.classification import CLASSIFICATION
from robustparse.types import Example
from sample_runs import fitted


def texts(count: int, split: str = "train") -> list[Example]:
    """The first texts of a split of the sample."""
    return sample_reviews(0).split(split)[:count]


@lru_cache(maxsize=1)
def _trained() -> WordCNN:
    data = texts(200)
    encoder = WordEmbeddings(word_dim=12, dropout=0.1)
    known = Vocabulary.from_examples(data, min_count=1)
    return fitted(WordCNN(encoder, filters=8, dropout=0.1, seed=3, vocabulary=known), data)


def trained_classifier() -> WordCNN:
    """A copy of it, in float64 and evaluation mode; most of its answers are right."""
    return copy.deepcopy(_trained())


def write_texts(path: Path, examples: list[Example]) -> Path:
    """Texts as a file of text, tab, label."""
    path.write_text("".join(map(CLASSIFICATION.files.write, examples)), encoding="utf-8")
    return path


def review_attack(search: dict[str, Any] | None = None, **settings: Any) -> Attack:
    """Words of the sample's lexicon, which keep every label, with the task's usual goal."""
    searching = Zheng2020(**(search or {}))
    return Attack(candidates=Lexicon(review_lexicon(0)), search=searching, **settings)
