"""Dependency parsing: trees in CoNLL-U and CoNLL-X files, scored by attachment."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustparse.data.columns import Known
from robustparse.data.conllu import (
    UNLEARNED,
    block_of,
    check_readable,
    file_ending,
    read_treebank,
    warn_of_labels,
)
from robustparse.data.sample.treebank import sample_treebank
from robustparse.data.sentence_lines import as_copy, has_graph, with_parse, with_words
from robustparse.errors import InputError
from robustparse.metrics import (
    PunctuationPolicy,
    attachment_scores,
    counted_words,
    tree_sums,
    unmatched_punctuation,
)
from robustparse.tasks.task import ANSWERS, MOST_LISTED, Record, Task, reworded
from robustparse.tasks.tree_drawing import LEGEND, draw_pair
from robustparse.types import DependencyTree, Example, Sentence


class DependencyTask(Task):
    """Answers are `DependencyTree` objects; see `Task` for the methods."""

    name = "dependency"
    headline = "las"
    scores = ("uas", "las")
    further_scores = ("ucm", "lcm")
    sums = ("correct_heads", "correct_labels")
    endings = (".conllu", ".conllx", ".conll")
    multiline = True
    gold_type = DependencyTree
    legend = LEGEND

    def read(
        self,
        path: str | Path,
        max_length: int | None = None,
        gold: bool = True,
        limit: str = "max_length",
        columns: Sequence[str] | None = None,
        known: Known = Known(),  # noqa: B008 - it is frozen
    ) -> list[Example]:
        """Read CoNLL-X if the name ends in ``.conllx`` or ``.conll``, otherwise CoNLL-U."""
        if columns is not None:
            found = "are named, and those of a treebank are fixed"
            raise InputError(found, path=path, key="columns", remedy="leave them out")
        return read_treebank(path, max_length, gold, limit)

    def sample(self, seed: int, split: str) -> list[Example]:
        """See `Task.sample`."""
        return sample_treebank(seed).split(split)

    def ending(self, path: str | Path) -> str:
        """Return ``.conllx`` or ``.conllu``."""
        return file_ending(path)

    def write(
        self,
        example: Example,
        words: Sequence[str] | None = None,
        answer: DependencyTree | None = None,
    ) -> str:
        """Return the lines of a sentence and the empty one after it; see `with_parse`."""
        block = example.block or block_of(example.sentence, example.gold)
        return f"{with_parse(block, answer or example.gold, words)}\n\n"

    def as_copy(self, example: Example) -> Example:
        """Return it with a sentence id of its own; see `as_copy`."""
        return replace(example, block=example.block and as_copy(example.block))

    def not_written(self, examples: Sequence[Example], path: str | Path) -> Iterator[str]:
        """Name enhanced dependencies, which belong to the parse and words of the source."""
        if any(has_graph(example.block) for example in examples if example.block):
            graphs = "enhanced dependencies (column 9) and empty nodes"
            yield f"{path}: {graphs} are left out of what is written"

    def project(
        self, example: Example, words: Sequence[str], origins: Sequence[int]
    ) -> Example | None:
        """Return the words with the arcs between those that they stand for.

        None if one has no arc, being new or the half of another, or if a dropped word is a head.
        """
        places = {origin: place for place, origin in enumerate(origins, start=1)}
        if len(places) < len(words) or -1 in places:
            return None
        heads = [example.gold.heads[origin] for origin in origins]
        if not places.keys() >= {head - 1 for head in heads if head}:
            return None
        tree = DependencyTree(
            tuple(places[head - 1] if head else 0 for head in heads),
            tuple(example.gold.labels[origin] for origin in origins),
        )
        sentence = reworded(example.sentence, words, origins)
        block = example.block and with_parse(with_words(example.block, origins), tree, words)
        return replace(example, sentence=sentence, gold=tree, block=block)

    def check(
        self,
        examples: Sequence[Example],
        path: str | Path,
        check: Callable[[Sequence[Example]], None],
        punctuation: PunctuationPolicy = "none",
    ) -> None:
        """See `Task.check`."""
        check_readable(examples, path, check, punctuation)

    def warnings(
        self,
        examples: Sequence[Example],
        path: str | Path,
        known: Collection[str],
        punctuation: PunctuationPolicy = "none",
        training: bool = False,
        most: int | None = MOST_LISTED,
    ) -> Iterator[str]:
        """Warn of labels that a parser never saw, and of tags by which no punctuation is found."""
        effect = "train heads only" if training else UNLEARNED
        found = warn_of_labels(examples, path, known, effect)
        yield from filter(None, [found, unmatched_punctuation(examples, punctuation)])

    def counted(self, sentence: Sentence, punctuation: PunctuationPolicy) -> NDArray[np.bool_]:
        """See `counted_words`."""
        return counted_words(sentence, punctuation)

    def correct(
        self, answer: DependencyTree, example: Example, counted: NDArray[np.bool_]
    ) -> dict[str, int]:
        """See `tree_sums`."""
        return tree_sums(answer, example.gold, counted)

    def score(self, sums: Mapping[str, int]) -> dict[str, float | None]:
        """Compute UAS, LAS, UCM and LCM, as far as their sums are there."""
        found = attachment_scores(sums)
        return {name: None if math.isnan(value) else value for name, value in found.items()}

    def to_record(self, answer: DependencyTree) -> dict[str, Any]:
        """Return heads and labels as lists."""
        return {"heads": list(answer.heads), "labels": list(answer.labels)}

    def from_record(self, record: Record) -> DependencyTree:
        """See `Task.from_record`."""
        heads, labels = record.get("heads"), record.get("labels")
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise InputError(f"got {labels!r}", key="labels", expected="a list of strings")
        n = len(labels)
        if not isinstance(heads, list) or len(heads) != n or not _are_heads(heads):
            raise InputError(f"got {heads!r}", key="heads", expected=f"{n} heads from 0 to {n}")
        return DependencyTree(tuple(heads), tuple(labels))

    def draw(self, record: Record) -> str:
        """Draw both trees in one SVG, wrong arcs and labels marked."""
        gold, before, after = self.answers(record)
        words = (record["tokens"], record["adversarial_tokens"])
        return draw_pair(words, gold, (before, after), record["edited"])

    def difference(
        self, one: DependencyTree, other: DependencyTree, apart: Collection[int] = ()
    ) -> int:
        """Count the words whose head or label differs."""
        pairs = zip(_arcs(one), _arcs(other), strict=True)
        return sum(a != b and word not in apart for word, (a, b) in enumerate(pairs))

    def strict_success(self, record: Record) -> dict[str, bool]:
        """Tell whether fewer heads (``uas``), or heads and labels (``las``), are right afterwards.

        As in the text of Zheng et al. 2020, an arc that is connected to a changed word is not
        compared: one whose dependent, gold head, head before or head after the attack was changed.
        """
        gold, before, after = self.answers(record)
        changed = {position + 1 for position in record["edited"]}
        compared = np.ones(len(gold.heads), dtype=np.bool_)
        compared[record.get("uncounted", [])] = False
        ends = zip(gold.heads, before.heads, after.heads, strict=True)
        for position, heads in enumerate(ends):
            compared[position] &= changed.isdisjoint((position + 1, *heads))
        old, new = (tree_sums(tree, gold, compared) for tree in (before, after))
        return {
            score: new[right] < old[right]
            for score, right in zip(self.scores, self.sums, strict=True)
        }

    def relations(self, record: Record) -> list[str]:
        """Return the gold labels of changed words, without the subtype after a colon."""
        labels = self.from_record(record["gold"]).labels
        return [labels[position].partition(":")[0] for position in record["edited"]]

    def answers(self, record: Record) -> list[DependencyTree]:
        """See `Task.answers`; the trees are of as many words as the sentence."""
        n, trees = len(record["tokens"]), super().answers(record)
        for which, tree in zip(ANSWERS, trees, strict=True):
            if len(tree.heads) != n:
                found, expected = f"got {list(tree.heads)!r}", f"{n} heads from 0 to {n}"
                raise InputError(found, key=f"{which}: heads", expected=expected)
        return trees


def _arcs(tree: DependencyTree) -> Iterator[tuple[int, str]]:
    return zip(tree.heads, tree.labels, strict=True)


def _are_heads(heads: Sequence[object]) -> bool:
    return all(type(head) is int and 0 <= head <= len(heads) for head in heads)
