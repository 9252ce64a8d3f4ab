"""The cells of the tables of ``docs/results.md``: what each shows of a row's figures."""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from robustparse.evaluation.significance import AttackedCounts, Interval, paired_bootstrap
from study_figures import WHEN
from study_origin import Figures

Cell = Callable[[Figures], str]
Columns = Mapping[str, Cell]
Compare = Callable[[AttackedCounts, AttackedCounts], Interval]


def text(key: str) -> Cell:
    """Show a text of the figures."""
    return lambda row: str(row[key])


def number(*keys: str, digits: int = 2) -> Cell:
    """Show a number of the figures, below these keys."""

    def cell(row: Figures) -> str:
        value: Any = row
        for key in keys:
            value = value[key]
        return f"{value:.{digits}f}"

    return cell


def budget(row: Figures) -> str:
    """Show the budget of an attack in percent, nothing where it is the recipe's own."""
    return "-" if row["gamma"] is None else f"{100 * row['gamma']:.0f}"


def perplexities(row: Figures) -> str:
    """Show the medians over all sentences."""
    return ", ".join(f"{row['perplexity'][when]['median']:.0f}" for when in WHEN)


def unseen(row: Figures) -> str:
    """Show how many of the words that were put in training data lack."""
    return f"{row['unseen']['oot']['after']} of {row['unseen']['changed']}"


def without_embedding(row: Figures) -> str:
    """Show how many changed words had no embedding of their own, before and after."""
    found = row["unseen"]["oov"]
    return f"{found['before']}, {found['after']}" if found else "-"


def candidates_left(row: Figures) -> str:
    """Show how many candidates of a word passed the last constraint."""
    *_, left = row["candidates"]["means"]["all"].values()
    return f"{left:.1f}"


def scores(names: Sequence[str], digits: int = 2) -> Columns:
    """Show scores before and after an attack, and its success."""
    called = {name: name.upper() if len(name) == 3 else name for name in names}
    return {
        **{f"{w} {called[s]}": number(w, s, digits=digits) for w in WHEN for s in names},
        "success %": number("success_rate", digits=digits),
    }


def success(row: Figures) -> str:
    """Show the percentage of all sentences in which an attack succeeds, with its interval."""
    count = row["n_sentences"]
    right = round(row["success_rate"] * count / 100)
    succeeded = [[1] * right + [0] * (count - right)]
    return shown(paired_bootstrap(itemgetter(0), succeeded, [1] * count, seed=0))


def strict(row: Figures) -> str:
    """Show the success rate by heads that leaves out arcs at changed words, where it was kept."""
    rate = (row.get("strict_success_rate") or {}).get("uas")
    return "-" if rate is None else f"{rate:.1f}"


def lost(row: Figures) -> str:
    """Show what a system loses to the attack."""
    return shown(counts(row).lost())


def words_a_text(row: Figures) -> str:
    """Show the length of a text, in words."""
    return f"{row['n_words'] / row['n_sentences']:.1f}"


def similarity(row: Figures) -> str:
    """Show the mean cosine of changed texts with the originals."""
    found = row["sentence_similarity"]
    return f"{found['mean']:.2f}" if found else "-"


def recipe(row: Figures) -> str:
    """Show the attack without what is demanded."""
    return str(row["attack"]).removesuffix("_strict").removesuffix("_references")


def demand(row: Figures) -> str:
    """Show what is demanded of the attack."""
    return str(row["attack"]).removeprefix(recipe(row)).strip("_") or "none"


def vetoed(row: Figures) -> dict[str, str]:
    """Show the percentage of the edits that references refused, of all and by class of tag."""
    found = row["candidates"].get("vetoed", {}).get("ReferenceParsers", {})
    shares = {name: one["percent"] for name, one in found.items()}
    return {name: "-" if one is None else f"{one:.0f}" for name, one in shares.items()}


def by_class(row: Figures) -> str:
    """Show the same by class only."""
    shares = [f"{name} {share}" for name, share in vetoed(row).items() if name != "all"]
    return ", ".join(shares) or "-"


def counts(row: Figures) -> AttackedCounts:
    """Return a row's correct parts of each sentence, by the last score."""
    found = row["counts"]
    return AttackedCounts(found["words"], found["clean"], found["attacked"])


def heads(row: Figures) -> AttackedCounts | None:
    """Return a row's correct heads of each sentence; rows of earlier days have only their sum."""
    found = row["counts"].get("correct_heads")
    return found and AttackedCounts(row["counts"]["words"], found["clean"], found["attacked"])


def uas_lost(row: Figures) -> str:
    """Show the UAS that an attack takes, with an interval where heads were counted."""
    own = heads(row)
    return shown(own.lost()) if own else f"{row['clean']['uas'] - row['attacked']['uas']:.1f}"


def uas_gained(row: Figures, other: Figures) -> str:
    """Show how much more UAS under attack a row has than another one, likewise."""
    own, first = heads(row), heads(other)
    if own and first:
        return shown(own.gained(first))
    return f"{row['attacked']['uas'] - other['attacked']['uas']:.1f}"


def uas_attacked(row: Figures) -> str:
    """Show the UAS under attack, likewise."""
    own = heads(row)
    return under_attack(own) if own else f"{row['attacked']['uas']:.2f}"


def las_attacked(row: Figures) -> str:
    """Show the LAS under attack, with its interval."""
    return under_attack(counts(row))


def under_attack(own: AttackedCounts) -> str:
    """Show a score under attack with its interval."""
    return shown(own.estimate(itemgetter(0), own.attacked), digits=2)


def of_counts(compare: Compare) -> Callable[[Figures, Figures], str]:
    """Return the comparison of two rows by their last score."""
    return lambda row, other: shown(compare(counts(row), counts(other)))


def minutes(row: Figures) -> str:
    """Show those of training; unknown if that was stopped on its way."""
    seconds = row["training_seconds"]
    return f"{seconds / 60:.1f}" if seconds else "-"


def relative_speed(row: Figures, control: Figures) -> str:
    """Show training words a second over the control's; unknown if either was stopped on its way.

    All rows of a study have batches of as many words, so that steps tell words. Copies that an
    adversary appends to a batch do not count; those made before are words of the batch.
    """
    if not (row["training_seconds"] and control["training_seconds"]):
        return "-"
    own, clean = (one["steps"] / one["training_seconds"] for one in (row, control))
    return f"{own / clean:.2f}"


def shown(interval: Interval, digits: int = 1) -> str:
    """Return an estimate and its bounds."""
    estimate, *bounds = (
        f"{value:.{digits}f}" for value in (interval.estimate, interval.lower, interval.upper)
    )
    return f"{estimate} [{', '.join(bounds)}]"
