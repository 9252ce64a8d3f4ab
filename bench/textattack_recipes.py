"""TextAttack's side of ``recipe_parity.py``; run by an interpreter that has textattack 0.3.11.

    python bench/textattack_recipes.py --victim V.pt --texts X.jsonl --vectors V.npz \
        --recipe pruthi --out FOLDER

Builds TextAttack's own recipe and writes what becomes of every text, a line a text and seed, into
``RECIPE.jsonl``, as ``textattack_peer.py`` does, and into ``RECIPE.json`` what the recipe proposes
for each word. Two things are put in the place of TextAttack's: word vectors, which it would
download, are those of ``--vectors``; a transformation that draws letters at random draws them for
one word always alike, so that the other side can be given the same misspellings. Population
searches are smaller.
"""

import argparse
import json
import random
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import textattack
import torch
from textattack.attack_recipes import (
    LEAP2023,
    AttackRecipe,
    DeepWordBugGao2018,
    IGAWang2019,
    Pruthi2019,
)
from textattack.shared import WordEmbedding
from textattack.transformations import CompositeTransformation, WordSwap

from textattack_network import read_network
from textattack_peer import TimedVictim, attacked, finished

POPULATION, GENERATIONS = 10, 5
RECIPES: dict[str, type[AttackRecipe]] = {
    "deepwordbug": DeepWordBugGao2018,
    "pruthi": Pruthi2019,
    "iga": IGAWang2019,
    "iga_from_original": IGAWang2019,
    "leap": LEAP2023,
}
# TextAttack's IGA takes candidates of the current word, and its children may exceed the limit of
# changed words. Here it is also compared in our space.
FROM_ORIGINAL = "iga_from_original"
FROZEN = ("deepwordbug", "pruthi")


class FoldingVictim(TimedVictim):
    """The classifier, which reads words in lower case, as ours does."""

    def __call__(self, text_input_list: Sequence[str], **kwargs: Any) -> torch.Tensor:
        """See `TimedVictim.__call__`."""
        return super().__call__([text.lower() for text in text_input_list], **kwargs)


def embedding(path: Path) -> WordEmbedding:
    """Return TextAttack's embedding of given words, vectors and neighbours."""
    with np.load(path) as arrays:
        words = bytes(arrays["words"]).decode().split("\n")
        vectors, neighbours = arrays["vectors"], arrays["neighbours"]
    index = {word: row for row, word in enumerate(words)}
    # TextAttack leaves out the first neighbour, which is the word itself.
    own = np.concatenate([np.arange(len(words))[:, None], neighbours], axis=1)
    return WordEmbedding(vectors, index, dict(enumerate(words)), own)


def members(transformation: Any) -> list[WordSwap]:
    if isinstance(transformation, CompositeTransformation):
        return list(transformation.transformations)
    return [transformation]


def proposals(swap: WordSwap) -> Callable[[str], list[str]]:
    """Return what a swap proposes for a word, with random numbers that follow from the word."""
    propose = swap._get_replacement_words

    def seeded(word: str) -> list[str]:
        seed = zlib.crc32(word.encode())
        random.seed(seed)
        np.random.seed(seed)
        return list(propose(word))

    return seeded


def from_original(attack: textattack.Attack) -> None:
    """Replace every word by candidates of its original only, and check children as all others."""
    attack.search_method.post_crossover_check = True
    swap = attack.transformation
    propose, embedding = swap._get_replacement_words, swap.embedding

    def transformations(text: Any, indices: Any) -> list[Any]:
        first = text
        while "previous_attacked_text" in first.attack_attrs:
            first = first.attack_attrs["previous_attacked_text"]
        return [
            text.replace_word_at_index(index, new)
            for index in indices
            for new in propose(first.words[index])
            if new != text.words[index] and embedding.get_mse_dist(first.words[index], new) <= 0.5
        ]

    swap._get_transformations = transformations
    attack.constraints = [
        one for one in attack.constraints if type(one).__name__ != "WordEmbeddingDistance"
    ]


def recipe(name: str, victim: TimedVictim, vectors: Path) -> textattack.Attack:
    """TextAttack's recipe, with the two things of the module's docstring and small populations."""
    WordEmbedding.counterfitted_GLOVE_embedding = staticmethod(lambda: embedding(vectors))
    attack = RECIPES[name].build(victim)
    if name in FROZEN:
        for swap in members(attack.transformation):
            swap._get_replacement_words = proposals(swap)
    if name == FROM_ORIGINAL:
        from_original(attack)
    for setting, size in (("pop_size", POPULATION), ("max_iters", GENERATIONS)):
        if hasattr(attack.search_method, setting):
            setattr(attack.search_method, setting, size)
    return attack


def table(attack: textattack.Attack, texts: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return what the recipe proposes for every word of the texts."""
    words = sorted({word for text in texts for word in text["text"].split()})
    swaps = members(attack.transformation)
    return {
        word: sorted({new for swap in swaps for new in swap._get_replacement_words(word)} - {word})
        for word in words
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("victim", "texts", "vectors", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--recipe", choices=list(RECIPES), required=True)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    victim = FoldingVictim(*read_network(options.victim, torch.float64))
    attack = recipe(options.recipe, victim, options.vectors)
    rows = list(map(json.loads, options.texts.read_text("utf-8").splitlines()))
    if options.recipe in FROZEN:
        proposed = json.dumps(table(attack, rows))
        (options.out / f"{options.recipe}.json").write_text(proposed, "utf-8")
    path = options.out / f"{options.recipe}.jsonl"
    done = finished(path)
    with path.open("a", encoding="utf-8") as file:
        for number in range(options.seeds):
            for row in rows:
                if (number, row["index"]) not in done:
                    found = attacked(attack, row, victim, number)
                    file.write(json.dumps({"round": number, **found}) + "\n")
                    file.flush()


if __name__ == "__main__":
    main()
