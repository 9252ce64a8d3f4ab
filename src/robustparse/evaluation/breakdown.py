"""What an attack did in detail, from its lines: sums and ratios, whatever order they come in.

Candidates before and after each constraint (Wang et al. 2021, Table 4), changed words that the
parser does not know (Table 7), success and loss by part of speech (Zheng et al. 2020, Table 3), and
means over all sentences beside means over successes (Yoo et al. 2020, Table 3, whose caption says
the latter and whose figures are the former).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from robustparse.attacks.victim import LexicalVictim, Victim
from robustparse.evaluation.tally import Line, Tally
from robustparse.metrics import percent
from robustparse.types import Example

TAG_CLASSES: dict[str, frozenset[str]] = {
    "JJ": frozenset({"JJ", "JJR", "JJS"}),
    "NN": frozenset({"NN", "NNS", "NNP", "NNPS"}),
    "RB": frozenset({"RB", "RBR", "RBS"}),
    "VB": frozenset({"VB", "VBD", "VBG", "VBN", "VBP", "VBZ"}),
    "IN": frozenset({"IN"}),
}
"""The rows of Zheng et al. 2020, Table 3, as the Penn tags their code attacks."""

OTHER, MIXED = "other", "mixed"

NOT_MEASURED: dict[str, Any] = {
    "perplexity": {"clean": None, "attacked": None},
    "word_similarity": None,
    "sentence_similarity": None,
}
"""What takes a model beside the parser; `evaluation.quality` fills it in later."""


def breakdown(lines: Sequence[Line], examples: Sequence[Example], victim: Victim) -> dict[str, Any]:
    """The keys of ``summary.json`` beyond `Tally.scores`; None where something needed is missing.

    Args:
        lines: of ``examples.jsonl``.
        examples: the sentences that were attacked, with their Penn tags.
        victim: the parser that was attacked.
    """
    return {
        **means_over_successes(lines),
        "candidates": candidates_per_slot(lines),
        "unseen": unseen_words(lines, victim),
        "by_tag": by_tag(lines, {one.id: one.sentence.xpos for one in examples}),
        **NOT_MEASURED,
    }


def means_over_successes(lines: Sequence[Line]) -> dict[str, Any]:
    """Edits and queries a sentence, over the sentences on which the attack succeeded."""
    sums = _sums([line for line in lines if line["success"]])
    n = sums["sentences"]
    return {
        "edits_per_success": sums["edits"] / n if n else None,
        "queries_per_success": {
            name: sums[name] / n if n else None for name in ("charged", "unique")
        },
    }


def candidates_per_slot(lines: Sequence[Line]) -> dict[str, Any] | None:
    """Candidates by generator and stage, sums and means over the slots they were made for.

    Stages are those of `attacks.counting.CandidateCounts`.
    """
    if not all("candidates" in line for line in lines):
        return None
    slots = sum(line["candidates"]["slots"] for line in lines)
    sums: dict[str, Counter[str]] = {}
    for line in lines:
        for generator, counts in line["candidates"]["sums"].items():
            sums.setdefault(generator, Counter()).update(counts)
    return {
        "slots": slots,
        "sums": {generator: dict(counts) for generator, counts in sums.items()},
        "means": {
            generator: {stage: n / slots if slots else None for stage, n in counts.items()}
            for generator, counts in sums.items()
        },
    }


def unseen_words(lines: Sequence[Line], victim: Victim) -> dict[str, Any] | None:
    """How many of the words at changed positions the parser did not know, before and after.

    `oov` counts words without an embedding of their own, `oot` words its training set does not
    hold (`LexicalVictim` says how each is told); a word that stands at several positions counts at
    each. None where the victim tells neither.
    """
    if not isinstance(victim, LexicalVictim):
        return None
    at = [(line, position) for line in lines for position in line["edited"]]
    words = {
        "before": [line["tokens"][position] for line, position in at],
        "after": [line["adversarial_tokens"][position] for line, position in at],
    }
    embedded = {when: victim.embedded(some) for when, some in words.items()}
    seen = {when: victim.seen_in_training(some) for when, some in words.items()}
    return {
        "changed": len(at),
        "oov": {
            when: None if mask is None else int((~mask).sum()) for when, mask in embedded.items()
        },
        "oot": {when: int((~mask).sum()) for when, mask in seen.items()},
    }


def by_tag(
    lines: Sequence[Line], tags: Mapping[int, Sequence[str]]
) -> dict[str, dict[str, Any]] | None:
    """Success and loss of attachment by the Penn tags of the changed words.

    A sentence belongs to a class if all its changed words have one of the class's tags on the
    original sentence, to `mixed` if they are of several classes; unchanged sentences belong
    nowhere. An attack on one class alone (Zheng et al. 2020) has one row.

    Args:
        lines: of ``examples.jsonl``.
        tags: Penn tags of each sentence by id; None comes back if a changed one lacks them.

    Returns:
        By class, in the order of `TAG_CLASSES`: sentences, changed words (of all sentences, `mixed`
        ones included; None for `mixed`), success rate in percent of the sentences, and what UAS
        and LAS lost on them, in points.
    """
    groups: dict[str, list[Line]] = defaultdict(list)
    changed: Counter[str] = Counter()
    for line in lines:
        if not line["edited"]:
            continue
        if len(tags.get(line["id"], ())) != len(line["tokens"]):
            return None
        classes = [tag_class(tags[line["id"]][position]) for position in line["edited"]]
        changed.update(classes)
        groups[classes[0] if len(set(classes)) == 1 else MIXED].append(line)
    names = [name for name in (*TAG_CLASSES, OTHER, MIXED) if groups[name] or changed[name]]
    words = {**changed, MIXED: None}  # whose words belong to other classes
    return {name: _row(groups[name], words.get(name, 0)) for name in names}


def tag_class(tag: str) -> str:
    """The class of a Penn tag."""
    return next((name for name, tags in TAG_CLASSES.items() if tag in tags), OTHER)


def _row(lines: Sequence[Line], changed: int | None) -> dict[str, Any]:
    sums = _sums(lines)
    counted = sums["counted"]

    def lost(which: str) -> float | None:
        right = sums[f"clean_{which}"] - sums[f"attacked_{which}"]
        return percent(right, counted) if counted else None

    return {
        "sentences": len(lines),
        "changed": changed,
        "success_rate": percent(sums["success"], len(lines)) if lines else None,
        "uas_drop": lost("heads"),
        "las_drop": lost("labels"),
    }


def _sums(lines: Sequence[Line]) -> dict[str, int]:
    tally = Tally()
    for line in lines:
        tally.add(line)
    return tally.sums
