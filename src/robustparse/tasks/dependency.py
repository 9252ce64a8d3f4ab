"""Dependency parsing: trees in CoNLL-U and CoNLL-X files, scored by attachment."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustparse.data.conllu import (
    ENDINGS,
    UNLEARNED,
    block_of,
    file_ending,
    read_treebank,
    warn_of_hidden_words,
    warn_of_labels,
)
from robustparse.data.read_options import FileUse, ReadOptions
from robustparse.data.sample.treebank import sample_treebank
from robustparse.data.sentence_lines import with_parse, with_words
from robustparse.errors import InputError
from robustparse.files.paths import Sources, each_path, in_short
from robustparse.metrics import (
    attachment_scores,
    tree_sums,
    unmatched_punctuation,
)
from robustparse.tasks.certificate_drawing import (
    CERTIFIED,
    REFUTED,
    UNDECIDED,
    draw_witnesses,
    swaps,
    verdict,
)
from robustparse.tasks.task import (
    ANSWERS,
    Answers,
    Files,
    Pictures,
    Record,
    Scores,
    Task,
    reworded,
    scored_parts,
)
from robustparse.tasks.tree_drawing import CERTIFICATE_LEGEND, LEGEND, draw_judged, draw_pair
from robustparse.types import DependencyTree, Example


class DependencyFiles(Files):
    """Treebanks."""

    endings = ENDINGS
    multiline = True
    corpus = staticmethod(sample_treebank)

    def read(self, path: Sources, options: ReadOptions = ReadOptions()) -> list[Example]:
        """Read CoNLL-X if the name ends in ``.conllx`` or ``.conll``, otherwise CoNLL-U."""
        if options.columns is not None:
            problem = "are named, but those of a treebank are fixed"
            name = in_short([*map(str, each_path(path))])
            raise InputError(problem, path=name, key="columns", remedy="leave them out")
        return read_treebank(path, options)

    def ending(self, path: str | Path) -> str:
        """Return ``.conllx`` or ``.conllu``."""
        return file_ending(path)

    def write(
        self,
        example: Example,
        words: Sequence[str] | None = None,
        answer: DependencyTree | None = None,
    ) -> str:
        """Return the lines of a sentence and the empty line after it; see `with_parse`."""
        block = example.block or block_of(example.sentence, example.gold)
        return f"{with_parse(block, answer or example.gold, words)}\n\n"

    def warnings(
        self, examples: Sequence[Example], known: Collection[str], use: FileUse
    ) -> Iterator[str]:
        """Warn of missing texts, of unknown labels, and of tags that mark no punctuation."""
        yield from warn_of_hidden_words(examples, use.path)
        effect = "train heads only" if use.training else UNLEARNED
        labels = warn_of_labels(examples, use.path, known, effect)
        yield from filter(None, [labels, unmatched_punctuation(examples, use.punctuation)])

    def project(
        self, example: Example, words: Sequence[str], origins: Sequence[int]
    ) -> Example | None:
        """Return the words with the arcs between their original words.

        None if a word is new or one half of another, or if the head of a word was dropped.
        """
        positions = {origin: position for position, origin in enumerate(origins, start=1)}
        if len(positions) < len(words) or -1 in positions:
            return None
        heads = [example.gold.heads[origin] for origin in origins]
        if not positions.keys() >= {head - 1 for head in heads if head}:
            return None
        tree = DependencyTree(
            tuple(positions[head - 1] if head else 0 for head in heads),
            tuple(example.gold.labels[origin] for origin in origins),
        )
        sentence = reworded(example.sentence, words, origins)
        block = example.block and with_parse(with_words(example.block, origins), tree, words)
        return replace(example, sentence=sentence, gold=tree, block=block)


class DependencyAnswers(Answers):
    """`DependencyTree` objects."""

    gold_type = DependencyTree
    part_name = "arc"

    def to_record(self, answer: DependencyTree) -> dict[str, Any]:
        """Return heads and labels as lists."""
        return {"heads": list(answer.heads), "labels": list(answer.labels)}

    def lines(self, answer: DependencyTree, words: Sequence[str]) -> list[str]:
        """Return for each word its label and its head."""
        heads = ["ROOT", *words]
        return [
            f"{word}: {label} of {heads[head]}"
            for word, head, label in zip(words, answer.heads, answer.labels, strict=True)
        ]

    def from_record(self, record: Record) -> DependencyTree:
        """See `Answers.from_record`."""
        heads, labels = record.get("heads"), record.get("labels")
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise InputError(f"got {labels!r}", key="labels", expected="a list of strings")
        n = len(labels)
        if not isinstance(heads, list) or len(heads) != n or not _are_heads(heads):
            raise InputError(f"got {heads!r}", key="heads", expected=f"{n} heads from 0 to {n}")
        return DependencyTree(tuple(heads), tuple(labels))

    def parts(self, answer: DependencyTree) -> Sequence[tuple[int, str]]:
        """Return the head and the label of each word."""
        return [*zip(answer.heads, answer.labels, strict=True)]

    def check_words(self, answer: DependencyTree, words: int) -> None:
        """See `Answers.check_words`."""
        if len(answer.heads) != words:
            problem, expected = f"got {list(answer.heads)!r}", f"{words} heads from 0 to {words}"
            raise InputError(problem, key="heads", expected=expected)

    def strict_success(self, record: Record) -> dict[str, bool]:
        """Tell whether fewer heads (``uas``), or heads and labels (``las``), are right afterwards.

        As in the text of Zheng et al. 2020, an arc that is connected to a changed word is not
        compared: one whose dependent, gold head, head before or head after the attack was changed.
        """
        gold, before, after = self.of(record)
        changed = {position + 1 for position in record["edited"]}
        compared = scored_parts(record, len(gold.heads))
        ends = zip(gold.heads, before.heads, after.heads, strict=True)
        for position, heads in enumerate(ends):
            compared[position] &= changed.isdisjoint((position + 1, *heads))
        old, new = (tree_sums(tree, gold, compared) for tree in (before, after))
        return {
            score: new[right] < old[right]
            for score, right in zip(DependencyScores.names, DependencyScores.sums, strict=True)
        }

    def relations(self, record: Record) -> list[str]:
        """Return the gold labels of changed words, without the subtype after a colon."""
        labels = self.from_record(record["gold"]).labels
        return [labels[position].partition(":")[0] for position in record["edited"]]


class DependencyScores(Scores):
    """Attachment scores."""

    headline = "las"
    names = ("uas", "las")
    further = ("ucm", "lcm")
    sums = ("correct_heads", "correct_labels")

    def correct(
        self, answer: DependencyTree, example: Example, counted: NDArray[np.bool_]
    ) -> dict[str, int]:
        """See `tree_sums`."""
        return tree_sums(answer, example.gold, counted)

    def score(self, sums: Mapping[str, int]) -> dict[str, float | None]:
        """Compute UAS, LAS, UCM and LCM, as far as their sums are given."""
        scores = attachment_scores(sums)
        return {name: None if math.isnan(value) else value for name, value in scores.items()}

    def right(self, record: Record, when: str) -> dict[str, NDArray[np.bool_]]:
        """See `Scores.right`; each counted word is a part."""
        answers = DependencyAnswers()
        gold, *both = answers.of(record)
        counted = scored_parts(record, len(gold.heads))
        answer = both[ANSWERS.index(when) - 1]
        heads = np.array(answer.heads) == np.array(gold.heads)
        pairs = zip(answers.parts(answer), answers.parts(gold), strict=True)
        arcs = np.array([a == b for a, b in pairs])
        return dict(zip(self.sums, (heads[counted], arcs[counted]), strict=True))


def _draw(record: Record) -> str:
    """Draw both trees in one SVG, wrong arcs and labels marked."""
    gold, before, after = DependencyAnswers().of(record)
    words = (record["tokens"], record["adversarial_tokens"])
    return draw_pair(words, gold, (before, after), record["edited"])


def _draw_certificate(record: Record) -> str:
    """Draw the gold tree with each arc as certified, refuted or undecided, and the witnesses."""
    answers, words = DependencyAnswers(), record["tokens"]
    gold = answers.from_record(record["gold"])
    verdicts, titles = [], [""] * len(words)
    for word in range(len(words)):
        head, label = (verdict(record, score, word) for score in DependencyScores.names)
        style = {CERTIFIED: "right", REFUTED: "wrong", UNDECIDED: "undecided"}[head]
        verdicts.append(f"{style} mislabelled" if head != label == REFUTED else style)
    for word in record.get("uncounted", []):
        verdicts[word] = "uncounted"
    rows = []
    for witness in record["witnesses"]:
        answer, changed = answers.from_record(witness["answer"]), swaps(record, witness)
        text = [witness["words"].get(str(i), word) for i, word in enumerate(words)]
        why = ", ".join(f"{old} \N{RIGHTWARDS ARROW} {new}" for old, new in changed)
        lost = []
        for word in sorted({word for refuted in witness["refutes"].values() for word in refuted}):
            instead = _arc(answer, text, word)
            titles[word] += f"{why or 'wrong on the original'}: {instead}\n"
            before = f"{words[word]}: {_arc(gold, words, word)}"
            lost.append(f"{before} \N{RIGHTWARDS ARROW} {instead}")
        rows.append((changed, lost))
    titles = [title.strip() for title in titles]
    picture = draw_judged(words, gold, verdicts, titles)
    return draw_witnesses(record, "Lost arcs", rows, picture)


def _arc(tree: DependencyTree, words: Sequence[str], word: int) -> str:
    """Describe the arc of a word: ``nsubj of barks``."""
    head = tree.heads[word]
    return f"{tree.labels[word]} of {words[head - 1]}" if head else tree.labels[word]


def _are_heads(heads: Sequence[object]) -> bool:
    return all(type(head) is int and 0 <= head <= len(heads) for head in heads)


DEPENDENCY = Task(
    "dependency",
    DependencyFiles(),
    DependencyAnswers(),
    DependencyScores(),
    Pictures(_draw, LEGEND, _draw_certificate, CERTIFICATE_LEGEND),
)
