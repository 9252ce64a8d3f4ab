"""Candidates from a substitution table, which defenses and certificates can use too."""

from collections.abc import Sequence
from functools import cached_property
from typing import Self

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.substitution_table import SubstitutionTable


class TableCandidates(CandidateGenerator):
    """Proposes the substitutes of a substitution table, in the order of the table.

    Args:
        table: path of a table that `robustparse substitutes` wrote.

    Raises:
        InputError: when first used: the file cannot be read or is not a table.
    """

    needs = ("substitution table",)
    draws = False
    loads = ("_table",)

    def __init__(self, table: str) -> None:
        self.table = table

    @classmethod
    def of(cls, table: SubstitutionTable) -> Self:
        """Return a generator for a table in memory."""
        generator = cls("in memory")
        generator._table = table
        return generator

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        return [self._table.of(slot.word) for slot in slots]

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        return f"TableCandidates {self._table.digest}"

    @cached_property
    def _table(self) -> SubstitutionTable:
        return SubstitutionTable.read(self.table)
