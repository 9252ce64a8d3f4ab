"""TextAttack's side of the recipes of ``textattack_served.py``, for the environment of TextAttack.

Search, constraints and their thresholds are those of TextAttack's recipes; candidates come from a
file, and means of word vectors stand in for the Universal Sentence Encoder.
"""

import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import textattack
import torch
from textattack.constraints import Constraint
from textattack.constraints.overlap import LevenshteinEditDistance
from textattack.constraints.pre_transformation import RepeatModification, StopwordModification
from textattack.constraints.semantics.sentence_encoders.thought_vector import ThoughtVector
from textattack.search_methods import GreedySearch, GreedyWordSwapWIR, SearchMethod
from textattack.shared import AttackedText, WordEmbedding
from textattack.transformations import Transformation, WordSwap
from torch import Tensor

RECIPES = ("deepwordbug", "textbugger", "bae", "clare")
EDITED = "edited"  # the positions in the original text that were edited


class ServedSwap(WordSwap):
    """Replaces words by those of a table.

    Args:
        table: index of a text -> kind of edit -> new words at each position.

    Attributes:
        index: the text that is attacked.
    """

    def __init__(self, table: dict[str, dict[str, list[list[str]]]]) -> None:
        super().__init__()
        self.table, self.index = table, ""

    def _get_transformations(
        self, current_text: AttackedText, indices_to_modify: Iterable[int]
    ) -> list[AttackedText]:
        words = self.table[self.index]["replace"]
        return [
            current_text.replace_word_at_index(index, new)
            for index in indices_to_modify
            for new in words[index]
        ]


class ServedEdits(Transformation):
    """Replaces, inserts before or merges words, none of the original text's more than once.

    Args:
        table: see `ServedSwap`.

    Attributes:
        index: see `ServedSwap`.
    """

    def __init__(self, table: dict[str, dict[str, list[list[str]]]]) -> None:
        self.table, self.index = table, ""

    def _get_transformations(
        self, current_text: AttackedText, indices_to_modify: Iterable[int]
    ) -> list[AttackedText]:
        served = self.table[self.index]
        edited = current_text.attack_attrs.get(EDITED, frozenset())
        places = current_text.attack_attrs["original_index_map"]
        made: list[tuple[AttackedText, set[int]]] = []
        for position, place in enumerate(map(int, places)):
            if position in edited:
                continue
            new = {kind: words[position] for kind, words in served.items()}
            texts = [current_text.replace_word_at_index(place, word) for word in new["replace"]]
            texts += [
                current_text.insert_text_before_word_index(place, word) for word in new["insert"]
            ]
            made += [(text, {position}) for text in texts]
            if new["merge"] and position + 1 not in edited:
                shorter = current_text.delete_word_at_index(place + 1)
                texts = [shorter.replace_word_at_index(place, word) for word in new["merge"]]
                made += [(text, {position, position + 1}) for text in texts]
        for text, positions in made:
            text.attack_attrs[EDITED] = edited | positions
        return [text for text, _ in made]


class MeanVector(ThoughtVector):
    """TextAttack's constraint, with a zero vector for texts without a known word."""

    def encode(self, raw_text_list: list[str]) -> Tensor:
        """Return the mean vectors of texts."""
        known = self.word_embedding
        zero = torch.zeros(known.embedding_matrix.shape[1])
        return torch.stack(
            [
                self._get_thought_vector(text)
                if any(known[word] is not None for word in text.split())
                else zero
                for text in raw_text_list
            ]
        )


@lru_cache(1)
def embedding(path: Path) -> WordEmbedding:
    """Return TextAttack's embedding of the words and vectors of a file."""
    with np.load(path) as arrays:
        words, vectors = bytes(arrays["words"]).decode().split("\n"), arrays["vectors"]
    index = {word: row for row, word in enumerate(words)}
    return WordEmbedding(vectors, index, dict(enumerate(words)), np.zeros((len(words), 0), int))


def constraints_of(recipe: str, vectors: Path) -> list[Constraint]:
    """Return the recipe's constraints on whole texts, with its thresholds."""
    if recipe == "deepwordbug":
        return [LevenshteinEditDistance(30)]
    if recipe == "textbugger":
        return [MeanVector(embedding(vectors), threshold=0.8, metric="angular")]
    return [
        MeanVector(
            embedding(vectors),
            threshold=0.936338023 if recipe == "bae" else 0.7,
            metric="cosine",
            compare_against_original=True,
            window_size=15,
            skip_text_shorter_than_window=True,
        )
    ]


def served_attack(recipe: str, goal: Any, stopwords: list[str], folder: Path) -> textattack.Attack:
    """Return TextAttack's recipe with the candidates and vectors of a folder."""
    table = json.loads((folder / f"{recipe}.json").read_text("utf-8"))
    search: SearchMethod = GreedyWordSwapWIR(wir_method="delete")
    if recipe == "deepwordbug":
        search = GreedyWordSwapWIR()
    if recipe == "clare":
        search = GreedySearch()
    swap: Transformation = ServedEdits(table) if recipe == "clare" else ServedSwap(table)
    constraints = [RepeatModification(), StopwordModification(stopwords=stopwords)]
    return textattack.Attack(
        goal, [*constraints, *constraints_of(recipe, folder / "vectors.npz")], swap, search
    )
