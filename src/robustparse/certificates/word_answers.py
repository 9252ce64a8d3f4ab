"""The words of a training text as models read them: their counts, answers and substitutes."""

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.tasks.task import Files
from robustparse.types import DependencyTree, Example, TagSequence


@dataclass(frozen=True)
class WordAnswers:
    """How often each lower-cased word of a training text occurs with each answer.

    Args:
        answers: for each word, how often it occurs with each answer.
    """

    answers: Mapping[str, Mapping[Hashable, int]]

    @classmethod
    def of(cls, examples: Iterable[Example]) -> "WordAnswers":
        """Count the words of examples, and those of their contexts.

        The answer of a word is its tag and relation in a tree, its gold tag of a tag sequence, or
        otherwise the gold answer of its text.
        """
        answers: dict[str, Counter[Hashable]] = defaultdict(Counter)
        for example in examples:
            sentence, gold = example.sentence, example.gold
            words = (*sentence.words, *sentence.context)
            of_words: Sequence[Hashable] = [str(gold)] * len(words)
            if isinstance(gold, DependencyTree):
                tags = sentence.tags or ("_",) * len(words)
                of_words = [*zip(tags, gold.labels, strict=True)]
            if isinstance(gold, TagSequence):
                of_words = gold.tags
            for word, answer in zip(words, of_words, strict=True):
                answers[word.lower()][answer] += 1
        return cls({word: answers[word] for word in sorted(answers)})

    @property
    def counts(self) -> dict[str, int]:
        """How often each word occurs."""
        return {word: sum(of_word.values()) for word, of_word in self.answers.items()}


def substitutes_as_read(
    examples: Iterable[Example], table: SubstitutionTable, files: Files
) -> Mapping[str, Collection[str]]:
    """Return the substitutes of each word as the task's models read them, in lower case.

    These are the words of the table, unless models read stems or slots instead of a raw text. Then
    the substitutes of a stem are the stems of the substitutes of all its words; a slot has none.
    """
    read: dict[str, dict[str, None]] = defaultdict(dict)
    for example in examples:
        reading = files.reading(example)
        if reading.plain:
            substitutes = table.substitutes
            read |= {
                lower: dict.fromkeys(substitutes[lower])
                for lower in map(str.lower, example.sentence.words)
                if lower in substitutes
            }
            continue
        for index, position in enumerate(reading.positions.tolist()):
            if reading.free[index]:
                raw = reading.sentence.words[position].lower()
                candidates = reading.candidates(index, table.substitutes.get(raw, ()))
                read[reading.words[index].lower()] |= {reading.read(c): None for c in candidates}
    return read
