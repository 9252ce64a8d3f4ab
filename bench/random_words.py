"""How many neighbours, and how many random words, pass a threshold of sentence similarity.

    python bench/random_words.py --texts mr/test.tsv --vectors COUNTERFITTED --encoder MODEL --json

A threshold says something only if it tells the two apart. Into each text one word is put in the
place of one that is no stop word, once a neighbour of it among the vectors, once a word of any of
the texts; the similarity of both to the text as it is is TextFooler's: 1 - theta, in radians, over
the 15 words around the change. Texts are drawn from those that have so many words and a neighbour.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robustparse.attacks import EmbeddingNeighbours, SentenceSimilarity, StopWords, WordVectorCosine
from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.data.text_files import read_texts
from robustparse.randomness import stream
from robustparse.types import Example, Mask

WINDOW = 15


def changes(
    examples: Sequence[Example], vectors: str, cosine: float, windows: int
) -> dict[str, list[Edit]]:
    """Return one change of each of some texts by a neighbour, and one by a random word.

    Args:
        examples: the texts.
        vectors: a file of word vectors, which may be compressed.
        cosine: the least of a neighbour, of the 50 nearest.
        windows: how many texts are changed at most.
    """
    near, stop = EmbeddingNeighbours(vectors, cache=None), StopWords(source="textfooler")
    table = WordVectorCosine(vectors)
    vocabulary = sorted({word for one in examples for word in one.sentence.words})

    def close(slot: Slot, others: Sequence[str]) -> Mask:
        return table.cosines([slot.word] * len(others), others) >= cosine

    found: dict[str, list[Edit]] = {"neighbours": [], "random words": []}
    for number in stream(0, 0).permutation(len(examples)).tolist():
        one, rng = examples[number], stream(0, number, 1)
        words = one.sentence.words
        if len(words) < WINDOW:
            continue
        slots = [Slot(one.id, one.sentence, at) for at in np.flatnonzero(stop.attackable(one))]
        choices = [
            (slot, kept)
            for slot, some in zip(slots, near.propose(slots, 0), strict=True)
            if (kept := [word for word, good in zip(some, close(slot, some), strict=True) if good])
        ]
        if not choices or len(found["neighbours"]) == windows:
            continue
        slot, others = choices[rng.integers(len(choices))]
        for name, some in (("neighbours", others), ("random words", vocabulary)):
            word = some[rng.integers(len(some))]
            found[name].append(Edit(one.sentence, words, int(slot.position), word))
    return found


def rates(
    found: dict[str, list[Edit]], encoder: str, thresholds: Sequence[float]
) -> dict[str, dict[str, float]]:
    """Return the percentage of each kind of changes that pass each threshold."""
    judge = SentenceSimilarity(encoder, measure="textfooler", reference="current", window=WINDOW)
    similarities = {kind: judge.similarities(edits) for kind, edits in found.items()}
    return {
        str(least): {
            kind: 100 * float((some >= least).mean()) for kind, some in similarities.items()
        }
        for least in thresholds
    }


def main() -> None:
    """Print the rates of each threshold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--vectors", required=True)
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--cosine", type=float, default=0.7)
    parser.add_argument("--thresholds", type=float, nargs="+", default=[0.5, 0.7, 0.8, 0.9])
    parser.add_argument("--windows", type=int, default=500)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    examples = read_texts(options.texts)
    found = changes(examples, options.vectors, options.cosine, options.windows)
    result = rates(found, options.encoder, options.thresholds)
    for least, row in result.items():
        passed = ", ".join(f"{rate:.0f} % of {kind}" for kind, rate in row.items())
        print(f"{least}: {passed} pass, of {len(found['neighbours'])} each")
    if options.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
