"""How many sentences an attack could change at all: one that can change none proves nothing."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from robustparse.attacks.attack import Attack
from robustparse.attacks.engine.funnel import ALL, JUDGED
from robustparse.attacks.tagged import Part
from robustparse.errors import InputError
from robustparse.evaluation.tally import Line
from robustparse.tagsets import Tagset
from robustparse.types import Example

FEW = 0.1  # of the sentences: where fewer can be changed, the scores say little
_SHOWN = 12  # tags in a message, the most frequent first


@dataclass
class Reach:
    """Sentences, as far as the goal finds something to attack in them and they do not reach it yet.

    Attributes:
        attacked: all of these sentences.
        attackable: those with a word for which candidates were made.
        changeable: those with a candidate that passed every constraint, or that none on changed
            sentences was asked about: a search may judge only changes that raise the score.
        stages: candidates of all sentences, by stage (`attacks.engine.funnel`).
        unchanged: how many of the sentences that are not changeable charged each number of queries.
    """

    attacked: int = 0
    attackable: int = 0
    changeable: int = 0
    stages: Counter[str] = field(default_factory=Counter)
    unchanged: Counter[int] = field(default_factory=Counter)

    @classmethod
    def of(cls, lines: Iterable[Line]) -> "Reach":
        """Add up lines."""
        reach = cls()
        for line in lines:
            reach.add(line)
        return reach

    def add(self, line: Line) -> None:
        """Add a sentence."""
        if line["skipped"] or not line["targeted"]:
            return
        counts = line["candidates"]["sums"][ALL]
        self.attacked += 1
        self.attackable += line["candidates"]["slots"] > 0
        if _changeable(counts):
            self.changeable += 1
        else:
            self.unchanged[line["queries"]["charged"]] += 1
        for stage, count in counts.items():
            self.stages[stage] += count

    def summary(self) -> dict[str, int]:
        """Return the counts of sentences."""
        return {name: getattr(self, name) for name in ("attacked", "attackable", "changeable")}

    def spent(self, budget: int | None) -> int:
        """Count the sentences that used up a budget of queries before any candidate was tried."""
        if budget is None:
            return 0
        return sum(count for charged, count in self.unchanged.items() if charged >= budget)

    def check(self, attack: Attack, examples: Sequence[Example]) -> None:
        """Refuse an attack that could change no sentence.

        Raises:
            InputError: says what every word lacked, with the tags of the data, and what to do.
        """
        if not self.attacked or self.changeable:
            return
        found = f"no word of {self.attacked} sentences could be attacked"
        at_fault: list[Part] = [attack.candidates, *attack.constraints]
        remedy = f"allow more in {_names(attack.constraints) or _names([attack.search])}"
        if self.attackable:
            found = f"no candidate for any word of {self.attacked} sentences"
            at_fault = [attack.candidates]
            remedy = f"see that what {_names(at_fault)} reads has words of these data"
            stage = next(stage for stage, count in self.stages.items() if not count)
            if refusing := [one for one in attack.constraints if stage.split()[0] == _names([one])]:
                found, at_fault = f"{found}: {stage} accepted none", [*refusing]
                remedy = f"loosen {stage} or leave it out"
        if spent := self.spent(attack.budget):
            found = (
                f"the budget of {attack.budget} queries was used up before any substitute was "
                f"tried in {spent} of {self.attacked} sentences"
            )
            remedy = "raise the budget: a ranking that asks spends queries before any word is tried"
        elif by_tags := [part for part in at_fault if part.reads_tags]:
            found = f"{found} ({'; '.join(_tags_found(by_tags, examples))})"
            remedy = _other_tags(by_tags, examples)
        raise InputError(found, key="attack", remedy=remedy)

    def warnings(self, budget: int | None) -> Iterator[str]:
        """Yield what a reader of the scores must know: that few sentences could be changed.

        Args:
            budget: of the attack (`Attack.budget`).
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
    """Tell whether some candidate passed what judged it, from the counts of all stages."""
    *before, last = counts.values()
    if JUDGED not in counts:
        return last > 0
    proposed = before[[*counts].index(JUDGED) - 1]
    return last > 0 or proposed > counts[JUDGED]


def _names(parts: Sequence[object]) -> str:
    return ", ".join(dict.fromkeys(type(part).__name__ for part in parts))


def _read(part: Part, examples: Sequence[Example]) -> set[Tagset]:
    """Return the tagsets that a part reads of sentences."""
    return {part.tagset or example.sentence.tagset for example in examples}


def _tags_found(parts: Sequence[Part], examples: Sequence[Example]) -> Iterator[str]:
    """Yield the most frequent tags of each column that parts read."""
    for tagset in sorted(set[Tagset]().union(*(_read(part, examples) for part in parts))):
        tags = Counter(tag for example in examples for tag in example.sentence.tagged(tagset))
        shown = [tag for tag, _ in tags.most_common(_SHOWN)]
        more = ", ..." if len(tags) > _SHOWN else ""
        yield f"{tagset.upper()} tags of the data: {', '.join(shown)}{more}"


def _other_tags(parts: Sequence[Part], examples: Sequence[Example]) -> str:
    """Return what to do so that parts find tags that they know."""
    universal = any(example.sentence.upos for example in examples)
    strangers = [part for part in parts if universal and "xpos" in _read(part, examples)]
    if strangers:
        return f"set `tagset: upos` of {_names(strangers)}"
    return f"list tags of the data in {_names(parts)}, or tag the data with Penn or universal tags"
