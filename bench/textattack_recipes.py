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
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import textattack
import torch
from textattack.attack_recipes import (
    LEAP2023,
    BadCharacters2021,
    DeepWordBugGao2018,
    HotFlipEbrahimi2017,
    IGAWang2019,
    InputReductionFeng2018,
    Pruthi2019,
)
from textattack.goal_functions import InputReduction, TargetedClassification
from textattack.shared import WordEmbedding
from textattack.transformations import CompositeTransformation, WordSwap
from textattack.transformations.word_swaps import word_swap_gradient_based

from textattack_network import PADDING, read_network
from textattack_peer import TimedVictim, attacked, finished

POPULATION, GENERATIONS = 10, 5
RECIPES: dict[str, Callable[[TimedVictim], textattack.Attack]] = {
    "deepwordbug": DeepWordBugGao2018.build,
    "pruthi": Pruthi2019.build,
    "hotflip": HotFlipEbrahimi2017.build,
    "input_reduction": InputReductionFeng2018.build,
    "input_reduction_repaired": InputReductionFeng2018.build,
    "iga": IGAWang2019.build,
    "iga_from_original": IGAWang2019.build,
    "leap": LEAP2023.build,
    **{
        f"bad_characters_{kind}": partial(
            BadCharacters2021.build,
            goal_function_type="targeted_classification",
            perturbation_type=kind,
            allow_skip=True,
        )
        for kind in ("invisible", "reorderings", "deletions")
    },
}
# TextAttack's IGA takes candidates of the current word, and its children may exceed the limit of
# changed words. Here it is also compared in our space.
FROM_ORIGINAL = "iga_from_original"
# TextAttack ranks the words of the whole text, but leaves out those at the same positions of what
# is left, and never the one after a word that it left out. Here both are also mended.
REPAIRED = "input_reduction_repaired"
FROZEN = ("deepwordbug", "pruthi")


class FoldingVictim(TimedVictim):
    """The classifier, which reads words in lower case, as ours does.

    Attributes:
        pad_token_id: row of padding; the victim is its own tokenizer.
    """

    pad_token_id = PADDING

    @property
    def tokenizer(self) -> "FoldingVictim":
        """What a gradient attack asks for the words of rows."""
        return self

    def convert_id_to_word(self, row: int) -> str:
        """Return the word of a row; empty for padding and the unknown word."""
        return self._words.get(row, "")

    @cached_property
    def _words(self) -> dict[int, str]:
        return {row: word for word, row in self.vocabulary.items()}

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


def repair(attack: textattack.Attack) -> None:
    """Leave out the words that were ranked."""
    attack.pre_transformation_constraints = []
    deletion = attack.transformation

    def transformations(text: Any, indices: Any) -> list[Any]:
        current = text.convert_from_original_idxs(indices) if len(text.words) > 1 else []
        return [text.delete_word_at_index(index) for index in current]

    deletion._get_transformations = transformations


def recipe(name: str, victim: TimedVictim, vectors: Path) -> textattack.Attack:
    """TextAttack's recipe, with the two things of the module's docstring and small populations."""
    WordEmbedding.counterfitted_GLOVE_embedding = staticmethod(lambda: embedding(vectors))
    # TextAttack admits an LSTM of its own only.
    word_swap_gradient_based.validate_model_gradient_word_swap_compatibility = lambda model: None
    attack = RECIPES[name](victim)
    if name in FROZEN:
        for swap in members(attack.transformation):
            swap._get_replacement_words = proposals(swap)
    if name == FROM_ORIGINAL:
        from_original(attack)
    if name == REPAIRED:
        repair(attack)
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


def adapt(attack: textattack.Attack, row: dict[str, Any], victim: TimedVictim) -> None:
    """Set what a goal needs to know of a text.

    A targeted attack wants the other one of two labels; input reduction keeps the victim's label,
    whether it is right or not.
    """
    goal = attack.goal_function
    if isinstance(goal, TargetedClassification):
        goal.target_class = 1 - int(row["label"])
    if isinstance(goal, InputReduction):
        row["label"] = str(int(victim([row["text"]]).argmax()))


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
                    adapt(attack, row, victim)
                    found = attacked(attack, row, victim, number)
                    file.write(json.dumps({"round": number, **found}) + "\n")
                    file.flush()


if __name__ == "__main__":
    main()
