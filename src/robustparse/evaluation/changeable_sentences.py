"""Counts of the sentences that an attack could change; with few, its scores mean little."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from robustparse.attacks.attack import Attack
from robustparse.attacks.component import Component
from robustparse.attacks.engine.candidate_counts import ALL, JUDGED
from robustparse.errors import InputError
from robustparse.evaluation.accumulator import Accumulator
from robustparse.evaluation.records import ExampleRecord
from robustparse.tagsets import Tagset
from robustparse.types import Example

FEW = 0.1  # fraction of sentences; a warning is given if fewer can be changed
_SHOWN = 12  # tags in a message, the most frequent first


@dataclass
class ChangeableSentences(Accumulator):
    """Counts of sentences that the attack could change.

    Skipped sentences, and those in which the goal finds nothing to attack, are left out.

    Attributes:
        attacked: all sentences.
        attackable: those with a word that candidates were made for.
        changeable: those with a candidate that passed every constraint, or with one that no
            constraint on changed sentences judged: a search may submit only changes that raise
            the score.
        stages: candidates of all sentences, by stage (`attacks.engine.candidate_counts`).
        unchanged: sentences that are not changeable, by the queries they charged.
    """

    attacked: int = 0
    attackable: int = 0
    changeable: int = 0
    stages: Counter[str] = field(default_factory=Counter)
    unchanged: Counter[str] = field(default_factory=Counter)

    def add(self, record: ExampleRecord) -> None:
        """Add a sentence."""
        if record["skipped"] or not record["targeted"]:
            return
        counts = record["candidates"]["sums"][ALL]
        self.attacked += 1
        self.attackable += record["candidates"]["slots"] > 0
        if _changeable(counts):
            self.changeable += 1
        else:
            self.unchanged[str(record["queries"]["charged"])] += 1
        self.stages.update(counts)

    def summary(self) -> dict[str, int]:
        """Return the counts of sentences."""
        return {name: getattr(self, name) for name in ("attacked", "attackable", "changeable")}

    def spent(self, budget: int | None) -> int:
        """Count the sentences that used up a budget of queries before any candidate was tried."""
        if budget is None:
            return 0
        return sum(count for charged, count in self.unchanged.items() if int(charged) >= budget)

    def check(self, attack: Attack, examples: Sequence[Example]) -> None:
        """Reject an attack that could change no sentence.

        Raises:
            InputError: names the component that left no word or no candidate, and the remedy.
        """
        if not self.attacked or self.changeable:
            return
        message = f"no word of {self.attacked} sentences could be attacked"
        at_fault: list[Component] = [attack.candidates, *attack.constraints]
        remedy = f"allow more in {_names(attack.constraints) or _names([attack.search])}"
        if self.attackable:
            message = f"no candidate for any word of {self.attacked} sentences"
            at_fault = [attack.candidates]
            remedy = f"check that the resources of {_names(at_fault)} have words of these data"
            stage = next(stage for stage, count in self.stages.items() if not count)
            name = stage.split()[0]
            if rejecting := [each for each in attack.constraints if name == _names([each])]:
                message, at_fault = f"{message}: {stage} accepted none", [*rejecting]
                remedy = f"loosen {stage} or leave it out"
        if spent := self.spent(attack.budget):
            message = (
                f"the budget of {attack.budget} queries was used up before any substitute was "
                f"tried in {spent} of {self.attacked} sentences"
            )
            remedy = (
                "raise the budget: a ranking that queries the victim spends queries before any "
                "word is tried"
            )
        elif by_tags := [component for component in at_fault if component.reads_tags]:
            message = f"{message} ({'; '.join(_tags_of_data(by_tags, examples))})"
            remedy = _other_tags(by_tags, examples)
        raise InputError(message, key="attack", remedy=remedy)

    def warnings(self, budget: int | None) -> Iterator[str]:
        """Yield a warning if few sentences could be changed.

        Args:
            budget: the budget of the attack (`Attack.budget`).
        """
        if self.changeable < FEW * self.attacked:
            reason = f"{self.attackable} have an attackable word"
            if spent := self.spent(budget):
                reason = f"{spent} used up their {budget} queries before any substitute was tried"
            yield (
                f"the attack could change only {self.changeable} of {self.attacked} sentences "
                f"({reason}): the scores say little"
            )


def _changeable(counts: Mapping[str, int]) -> bool:
    """Tell whether any candidate passed all constraints, from the counts of all stages."""
    *before, last = counts.values()
    if JUDGED not in counts:
        return last > 0
    proposed = before[[*counts].index(JUDGED) - 1]
    return last > 0 or proposed > counts[JUDGED]


def _names(components: Sequence[object]) -> str:
    return ", ".join(dict.fromkeys(type(component).__name__ for component in components))


def _read(component: Component, examples: Sequence[Example]) -> set[Tagset]:
    """Return the tagsets that a component reads."""
    return {component.tagset or example.sentence.tagset for example in examples}


def _tags_of_data(components: Sequence[Component], examples: Sequence[Example]) -> Iterator[str]:
    """Yield the most frequent tags of each column that the components read."""
    for tagset in sorted(
        set[Tagset]().union(*(_read(component, examples) for component in components))
    ):
        tags = Counter(tag for example in examples for tag in example.sentence.tagged(tagset))
        shown = [tag for tag, _ in tags.most_common(_SHOWN)]
        more = ", ..." if len(tags) > _SHOWN else ""
        yield f"{tagset.upper()} tags of the data: {', '.join(shown) or 'none'}{more}"


def _other_tags(components: Sequence[Component], examples: Sequence[Example]) -> str:
    """Return the remedy for components that know none of the tags."""
    universal = any(example.sentence.upos for example in examples)
    others = [
        component for component in components if universal and "xpos" in _read(component, examples)
    ]
    if others:
        return f"set `tagset: upos` of {_names(others)}"
    names = _names(components)
    return f"list tags of the data in {names}, or tag the data with Penn or universal tags"
