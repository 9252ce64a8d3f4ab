"""How many tokens of a text an encoding changes, and how many it protects."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from robustparse.data.robust_encoding import Encoding


@dataclass(frozen=True)
class Recoding:
    """Numbers of tokens of a text that is read through an encoding.

    Args:
        tokens: all tokens.
        recoded: tokens whose code differs from the word.
        attackable: tokens whose word has substitutes.
        one_code: attackable tokens that have the same code as all their substitutes.
    """

    tokens: int
    recoded: int
    attackable: int
    one_code: int

    @classmethod
    def of(
        cls,
        encoding: Encoding,
        counts: Mapping[str, int],
        substitutes: Mapping[str, Collection[str]],
    ) -> "Recoding":
        """Count tokens from the counts and the substitutes of lower-cased words."""
        attackable = {word: count for word, count in counts.items() if substitutes.get(word)}
        return cls(
            tokens=sum(counts.values()),
            recoded=sum(n for word, n in counts.items() if encoding.code(word) != word),
            attackable=sum(attackable.values()),
            one_code=sum(
                count
                for word, count in attackable.items()
                if {encoding.code(word)} == {*map(encoding.code, substitutes[word])}
            ),
        )
