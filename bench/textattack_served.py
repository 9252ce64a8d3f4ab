"""Recipes of ``vs_textattack.py``: DeepWordBug, TextBugger, BAE and CLARE, with served candidates.

Both sides get the same candidates of every word of every text, so that outcomes can be compared:
our recipe proposes them once, of the original text, by ``--vectors`` and the masked language model
of ``--masked_lm``. A file `RECIPE.json` holds, by the index of a text, a list of candidates a word
for each of three kinds of edits: `replace`, `insert` before it, and `merge` with the next word.

Searches and constraints are TextAttack's, but for what it would download. Instead of the Universal
Sentence Encoder, both sides compare means of word vectors, with the recipe's measure, threshold and
window (`ThoughtVector` in TextAttack, `VectorSimilarity` here). BAE's filter for parts of speech is
left out, and so is CLARE's choice of words to merge by parts of speech. Stop words are never
changed, and no word is edited twice; TextAttack's CLARE would insert before stop words.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.generator import CandidateGenerator, Merged, Slot
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.edits import LevenshteinDistance, _distance
from robustparse.attacks.constraints.sentence_constraint import Recent
from robustparse.attacks.constraints.similarity import _REMEMBERED, TextSimilarity, VectorSimilarity
from robustparse.attacks.constraints.words import StopWords
from robustparse.attacks.goals.label_flip import LabelFlip
from robustparse.attacks.search.beam import Greedy
from robustparse.attacks.search.importance import GreedyByImportance
from robustparse.attacks.search.rankings import DeletedWord, UnknownWord
from robustparse.attacks.search.requests import Search
from robustparse.files.writing import write_text
from robustparse.options.installed import installed_file
from robustparse.options.recipe import make_object
from robustparse.options.yaml_files import read_yaml
from robustparse.types import Example
from textattack_problem import WORD, with_settings

# The installed recipe whose candidates are served.
RECIPES = {
    "deepwordbug": "deepwordbug_textattack",
    "textbugger": "textbugger",
    "bae": "bae",
    "clare": "clare",
}
KINDS = ("replace", "insert", "merge")
Edits = dict[str, list[list[str]]]
"""By kind, the new words at each position of a text."""


class Served(CandidateGenerator):
    """Candidates of a file.

    Args:
        table: index of a text -> its edits.
    """

    verbatim, draws, spans = True, False, True

    def __init__(self, table: dict[str, Edits]) -> None:
        self.table = table

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        return [self._of(slot) for slot in slots]

    def _of(self, slot: Slot) -> list[str]:
        new = {kind: words[slot.position] for kind, words in self.table[str(slot.id)].items()}
        inserted = [f"{word} {slot.word}" for word in new["insert"]]
        return [*new["replace"], *inserted, *map(Merged, new["merge"])]


def serve(
    recipe: str,
    texts: Sequence[Example],
    kept: Sequence[str],
    folder: Path,
    vectors: Path,
    masked_lm: Path,
) -> None:
    """Write a recipe's candidates into its file.

    Args:
        recipe: one of `RECIPES`.
        texts: the texts.
        kept: the stop words, which get no candidates.
        folder: where the file is written.
        vectors: the file of word vectors.
        masked_lm: the folder of the masked language model.
    """
    masked = {"model": str(masked_lm)}
    settings = {
        "EmbeddingNeighbours": {"vectors": str(vectors), "cache": None},
        "MaskedLM": masked,
        "MaskedInsertion": {**masked, "side": "before"},  # the side of TextAttack
        "MaskedMerge": masked,
    }
    spec = with_settings(read_yaml(installed_file(RECIPES[recipe]))["candidates"], settings)
    generator: CandidateGenerator = make_object(CandidateGenerator, spec)
    table = {}
    for text in texts:
        words = text.sentence.words
        slots = [Slot(text.id, text.sentence, position) for position in range(len(words))]
        edits: Edits = {kind: [[] for _ in words] for kind in KINDS}
        for slot, proposed in zip(slots, generator.propose(slots, seed=0), strict=True):
            after = words[slot.position + 1 :][:1]
            for candidate in dict.fromkeys(proposed) if slot.word not in kept else ():
                kind, new = _edit(candidate, slot.word)
                locked = kind == "merge" and (not after or after[0] in kept)
                if WORD.fullmatch(new) and new != slot.word and not locked:
                    edits[kind][slot.position].append(new)
        # TextAttack sorts candidates by their texts, which decides between equal scores.
        table[str(text.id)] = {kind: [*map(sorted, lists)] for kind, lists in edits.items()}
    write_text(folder / f"{recipe}.json", json.dumps(table))


def _edit(candidate: str, word: str) -> tuple[str, str]:
    """Return the kind of an edit, and the new word."""
    if isinstance(candidate, Merged):
        return "merge", str(candidate)
    new, blank, rest = candidate.partition(" ")
    return ("insert", new) if blank and rest == word else ("replace", candidate)


def similarity(recipe: str, vectors: str) -> list[Constraint]:
    """Return the recipe's constraint on similarity, if it has one."""
    if recipe == "textbugger":
        return [VectorSimilarity(vectors, minimum=0.8, measure="angular")]
    if recipe in ("bae", "clare"):
        minimum = 0.936338023 if recipe == "bae" else 0.7
        return [
            VectorSimilarity(vectors, minimum=minimum, measure="cosine", window=15, short="pass")
        ]
    return [LevenshteinDistance(30)]


def forget(attack: Attack) -> None:
    """Empty the caches of an attack's constraints, as TextAttack does after every text."""
    _distance.cache_clear()
    for constraint in attack.constraints:
        if isinstance(constraint, TextSimilarity):
            constraint._known = Recent(_REMEMBERED)


def attack_of(recipe: str, folder: Path, vectors: str, stopwords: Path, seed: int) -> Attack:
    """Return our recipe with TextAttack's search and the served candidates."""
    table = json.loads((folder / f"{recipe}.json").read_text("utf-8"))
    search: Search = GreedyByImportance(DeletedWord(), winner="similar")
    if recipe == "deepwordbug":
        search = GreedyByImportance(UnknownWord())
    if recipe == "clare":
        search = Greedy(outcome="last")
    constraints: list[Constraint] = [StopWords(str(stopwords), fold=False)]
    constraints += similarity(recipe, vectors)
    return Attack(Served(table), search, constraints, goal=LabelFlip(), seed=seed)
