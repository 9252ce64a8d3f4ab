"""What an attack did in detail, from its lines: sums and ratios, whatever order they come in.

Candidates before and after each constraint (Wang et al. 2021, Table 4), changed words that the
victim does not know (Table 7), success and loss by part of speech (Zheng et al. 2020, Table 3), and
means over all sentences as well as over successes (Yoo et al. 2020, Table 3, whose caption says the
latter and whose values are the former).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from robustparse.attacks.attack import Attack
from robustparse.attacks.engine.funnel import ALL
from robustparse.attacks.tagged import Part
from robustparse.errors import InputError
from robustparse.evaluation.tally import Line, Tally
from robustparse.tagsets import CLASSES, Tagset, class_of
from robustparse.tasks.task import Task
from robustparse.types import Example

OTHER, MIXED = "other", "mixed"
FEW = 0.1  # of the sentences: where fewer can be changed, the scores say little
_SHOWN = 12  # tags in a message, the most frequent first

NOT_MEASURED: dict[str, Any] = {
    "perplexity": {"clean": None, "attacked": None},
    "word_similarity": None,
    "sentence_similarity": None,
}
"""What takes other models than the victim; `evaluation.measure` fills it in later."""


def breakdown(task: Task, lines: Iterable[Line]) -> dict[str, Any]:
    """Compute the keys of ``summary.json`` beyond `Tally.scores`; None where a line lacks what is
    needed.

    Args:
        task: of the victim.
        lines: of ``examples.jsonl``, read once.
    """
    successes, candidates, unseen, tags = Tally(task), Candidates(), UnseenWords(), Tags(task)
    for line in lines:
        if line["success"]:
            successes.add(line)
        for part in (candidates, unseen, tags):
            part.add(line)
    return {
        **means_over_successes(successes.sums),
        "candidates": candidates.summary(),
        "unseen": unseen.summary(),
        "by_tag": tags.summary(),
        **NOT_MEASURED,
    }


def means_over_successes(sums: Mapping[str, int]) -> dict[str, Any]:
    """Compute edits and queries a sentence, from the sums over successes."""
    n = sums["sentences"]
    return {
        "edits_per_success": sums["edits"] / n if n else None,
        "queries_per_success": {
            name: sums[name] / n if n else None for name in ("charged", "unique")
        },
    }


@dataclass
class Candidates:
    """Candidates by generator and stage (`attacks.engine.funnel.CandidateCounts`), added up."""

    slots: int = 0
    sums: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, line: Line) -> None:
        """Add a sentence."""
        self.slots += line["candidates"]["slots"]
        for generator, counts in line["candidates"]["sums"].items():
            self.sums.setdefault(generator, Counter()).update(counts)

    def summary(self) -> dict[str, Any]:
        """Return sums, and means over the slots that candidates were made for."""
        slots = self.slots
        return {
            "slots": slots,
            "sums": {generator: dict(counts) for generator, counts in self.sums.items()},
            "means": {
                generator: {stage: n / slots if slots else None for stage, n in counts.items()}
                for generator, counts in self.sums.items()
            },
        }


@dataclass
class UnseenWords:
    """Words at changed positions that the victim does not know (`attacks.unseen`), added up.

    A word that stands at several positions counts at each.
    """

    changed: int = 0
    sums: Counter[tuple[str, str]] = field(default_factory=Counter)
    missing: set[str] = field(default_factory=set)

    def add(self, line: Line) -> None:
        """Add a sentence."""
        self.changed += len(line["edited"])
        counts = line["unseen"] or {}
        for name in ("oov", "oot"):
            if counts.get(name) is None:
                self.missing.add(name)
                continue
            for when, count in zip(("before", "after"), counts[name], strict=True):
                self.sums[name, when] += count

    def summary(self) -> dict[str, Any] | None:
        """Return counts before and after the attack; None if a victim did not tell."""
        if "oot" in self.missing:
            return None
        counts: dict[str, Any] = {"changed": self.changed}
        for name in ("oov", "oot"):
            counts[name] = {
                when: None if name in self.missing else self.sums[name, when]
                for when in ("before", "after")
            }
        return counts


class Tags:
    """Success and loss by the classes (`tagsets.CLASSES`) of the changed words.

    A sentence belongs to a class if all its changed words have one of the class's tags on the
    original sentence, to `mixed` if they are of several classes; unchanged sentences belong
    nowhere. An attack on one class only (Zheng et al. 2020) has one row.

    Args:
        task: of the victim.
    """

    def __init__(self, task: Task) -> None:
        self._groups: dict[str, Tally] = defaultdict(lambda: Tally(task))
        self._changed: Counter[str] = Counter()
        self._complete = True

    def add(self, line: Line) -> None:
        """Add a sentence."""
        if not line["edited"]:
            return
        if len(line["edited_tags"]) != len(line["edited"]):
            self._complete = False
            return
        classes = [class_of(tag) or OTHER for tag in line["edited_tags"]]
        self._changed.update(classes)
        self._groups[classes[0] if len(set(classes)) == 1 else MIXED].add(line)

    def summary(self) -> dict[str, dict[str, Any]] | None:
        """Return a row by class, in the order of `CLASSES`; None if a changed sentence has no
        tags.

        Sentences, changed words (of all sentences, `mixed` ones included; None for `mixed`),
        success rate in percent of the sentences, and what each score lost on them, in points.
        """
        if not self._complete:
            return None
        words = {**self._changed, MIXED: None}  # whose words belong to other classes
        names = [n for n in (*CLASSES, OTHER, MIXED) if n in self._groups or self._changed[n]]
        return {name: _row(self._groups[name], words.get(name, 0)) for name in names}


def _row(tally: Tally, changed: int | None) -> dict[str, Any]:
    return {
        "sentences": tally.sums["sentences"],
        "changed": changed,
        "success_rate": tally.success_rate(),
        **{f"{name}_drop": lost for name, lost in tally.drops().items()},
    }


@dataclass
class Reach:
    """Sentences, as far as the goal finds something to attack in them and they do not reach it yet.

    Attributes:
        attacked: all of these sentences.
        attackable: those with a word for which candidates were made.
        changeable: those with a candidate that passed every constraint.
        stages: candidates of all sentences, by stage (`attacks.engine.funnel`).
    """

    attacked: int = 0
    attackable: int = 0
    changeable: int = 0
    stages: Counter[str] = field(default_factory=Counter)

    def add(self, line: Line) -> None:
        """Add a sentence."""
        if line["skipped"] or not line["targeted"]:
            return
        counts = line["candidates"]["sums"][ALL]
        self.attacked += 1
        self.attackable += line["candidates"]["slots"] > 0
        self.changeable += [*counts.values()][-1] > 0
        for stage, count in counts.items():
            self.stages[stage] += count

    def summary(self) -> dict[str, int]:
        """Return the counts of sentences."""
        return {name: getattr(self, name) for name in ("attacked", "attackable", "changeable")}

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
        if by_tags := [part for part in at_fault if part.reads_tags]:
            found = f"{found} ({'; '.join(_tags_found(by_tags, examples))})"
            remedy = _other_tags(by_tags, examples)
        raise InputError(found, key="attack", remedy=remedy)

    def warnings(self) -> Iterator[str]:
        """Yield what a reader of the scores must know: that few sentences could be changed."""
        if self.changeable < FEW * self.attacked:
            yield (
                f"the attack could change only {self.changeable} of {self.attacked} sentences "
                f"({self.attackable} have an attackable word): the scores say little"
            )


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
