"""The tables of ``docs/results.md``, from the figures that ``study.py`` keeps.

A table is a mapping from the heads of its columns to what they show of a row's figures.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from robustparse.evaluation.significance import AttackedCounts, Interval, paired_bootstrap
from robustparse.tasks import task as tasks
from study_figures import WHEN, kept
from study_origin import Figures, agree, comparable, told_apart
from study_rows import Study

Cell = Callable[[Figures], str]
Columns = Mapping[str, Cell]
Compare = Callable[[AttackedCounts, AttackedCounts], Interval]


def table(name: str, study: Study) -> str:
    """Return the finished rows of a study, as ``docs/results.md`` shows them.

    Rows that rest on different parsers or recipes of one name are refused.
    """
    rows, names = kept(name, study), list(dict.fromkeys(row.name for row in study.rows))
    agree(rows)
    rows = told_apart(rows)
    kinds = {"ewt_attacks": ATTACKS, "mr_attacks": ATTACKS_ON_TEXTS}
    kinds |= {"wang2021_filters": CONSTRAINTS, "zheng2020_table1": BUDGETS, "wang2021": UNSEEN}
    if name == "ewt_references":
        return markdown(references(rows), rows)
    if name == "ewt_relations":
        return markdown(relations(rows), rows)
    if name in ("jin2020_mr", "jin2020_snli"):
        return markdown(ablations(rows), rows)
    if name in kinds:
        return markdown(kinds[name], rows)
    if name.startswith("zheng2020_table2"):
        return markdown(copies(rows, names), rows)
    return markdown(defenses(rows, *names[:2], tasks.named(study.task).scores), rows)


def markdown(columns: Columns, rows: Sequence[Figures]) -> str:
    """Return the table of some rows."""
    lines = [columns.keys(), *([cell(row) for cell in columns.values()] for row in rows)]
    head, *body = (f"| {' | '.join(cells)} |" for cells in lines)
    return "\n".join([head, "|---" * len(columns) + "|", *body])


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


def lost(row: Figures) -> str:
    """Show what a system loses to the attack."""
    return shown(counts(row).lost())


UAS_LAS = {**scores(("uas", "las")), "success %": success}
LOST = {"LAS lost to the attack": lost}
EDITS, QUERIES = number("edits_per_sentence"), ("queries_per_sentence", "charged")
PERPLEXITIES = {"perplexity before, after": perplexities}

ATTACKS = {
    **{"parser": text("title"), "attack": text("attack"), "budget %": budget, **UAS_LAS},
    **{**LOST, "edits": EDITS, "edits of a success": number("edits_per_success")},
    **{"unseen in training": unseen, "queries": number(*QUERIES)},
    **{"sentences a second": number("sentences_per_second"), **PERPLEXITIES},
}
# As Tables 6 to 8 of Wang et al. (2021).
UNSEEN = {
    **{"parser": text("title"), "attack": text("attack"), **UAS_LAS},
    **{"edits": EDITS, "unseen in training": unseen},
    **{"without an embedding before, after": without_embedding},
    **{"queries": number(*QUERIES), **PERPLEXITIES},
}
# The percentage of words changed is a mean over the successes.
ATTACKS_ON_TEXTS = {
    **{"classifier": text("title"), "attack": text("attack"), "texts": text("n_sentences")},
    **scores(("accuracy",), digits=1),
    "words changed %": number("changed_of_successes", digits=1),
    "queries": number(*QUERIES, digits=1),
}


def words_a_text(row: Figures) -> str:
    """Show the length of a text, in words."""
    return f"{row['n_words'] / row['n_sentences']:.1f}"


def similarity(row: Figures) -> str:
    """Show the mean cosine of changed texts with the originals."""
    found = row["sentence_similarity"]
    return f"{found['mean']:.2f}" if found else "-"


def ablations(rows: Sequence[Figures]) -> Columns:
    """Show TextFooler on each classifier, as in Tables 3 and 4 of Jin et al. (2020), and ablations.

    An ablation is compared with the whole attack on the same classifier.
    """
    whole = {row["row"]: row for row in reversed(rows)}

    def over_whole(row: Figures) -> str:
        first = whole[row["row"]]
        return "-" if row is first else shown(counts(row).lost_beyond(counts(first)))

    return {
        **ATTACKS_ON_TEXTS,
        **{"words a text": words_a_text, "similarity": similarity, **PERPLEXITIES},
        "accuracy lost to the attack": lost,
        "lost, over the whole attack": over_whole,
    }


# Cosines are means over the changed words.
CONSTRAINTS = {
    **{"constraints": text("title"), "candidates a word": candidates_left, **UAS_LAS},
    **{"edits": EDITS, "queries": number(*QUERIES), "cosine": number("word_similarity", "mean")},
    **PERPLEXITIES,
}
# As Table 1 of Zheng et al. (2020).
BUDGETS = {
    **{"parser": text("title"), "budget %": budget, **UAS_LAS, **LOST},
    "edits a sentence": EDITS,
}


def references(rows: Sequence[Figures]) -> Columns:
    """Show what an attack still takes where a demand is made: of references, or of its success.

    Harm left is the percentage of what the same attack takes from the same parser without it.
    """
    free = {(row["row"], recipe(row), row["gamma"]): row for row in rows if demand(row) == "none"}

    def harm_left(row: Figures) -> str:
        first = free.get((row["row"], recipe(row), row["gamma"]))
        if first is None or first is row or not comparable(row, first):
            return "-"
        return shown(counts(row).kept(counts(first)))

    return {
        **{"parser": text("title"), "attack": recipe, "demand": demand, "budget %": budget},
        **{**UAS_LAS, "strict success %": number("strict_success_rate", "uas")},
        **{**LOST, "harm left %": harm_left},
        **{"vetoed %": lambda row: vetoed(row).get("all", "-"), "vetoed % by class": by_class},
    }


def relations(rows: Sequence[Figures]) -> Columns:
    """Show what an attack takes where it may change copulas and auxiliaries, and where it may not.

    The first of two rows leaves them alone; which of the words that the second changes are copulas
    or auxiliaries is shown in percent, of all and by class of tag.
    """
    alone = {(row["row"], row["attack"]): row for row in rows}

    def beyond(row: Figures) -> str:
        first = alone.get((row["row"], row["attack"].removesuffix("_copulas")))
        if first is None or first is row or not comparable(row, first):
            return "-"
        return shown(counts(row).lost_beyond(counts(first)))

    def changed(row: Figures) -> str:
        shares = [
            f"{name} {100 * one['copulas'] / one['changed']:.0f}"
            for name, one in row["copulas"].items()
            if one["copulas"]
        ]
        return ", ".join(shares) or "none"

    return {
        **{"parser": text("title"), "attack": lambda row: row["attack"].removesuffix("_copulas")},
        "copulas and auxiliaries": lambda row: (
            "changed too" if row["attack"].endswith("_copulas") else "left alone"
        ),
        **{"budget %": budget, **UAS_LAS, **LOST, "lost, over left alone": beyond},
        "copulas and auxiliaries, % of changed words": changed,
    }


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


def copies(rows: Sequence[Figures], names: Sequence[str]) -> Columns:
    """Show what training on copies gains, as Table 2 of Zheng et al. (2020).

    Static scores, as theirs, are those on the clean parser's adversaries.

    Args:
        rows: the figures of finished rows.
        names: of all rows, three a parser: clean training, equal steps, on copies.
    """
    finished = {row["row"]: row for row in rows}

    def over(place: int, compare: Callable[[Figures, Figures], str]) -> Cell:
        """Compare a row with the one at an earlier place of its parser's three."""

        def cell(row: Figures) -> str:
            own = names.index(row["row"])
            other = finished.get(names[own - own % 3 + place]) if own % 3 > place else None
            return compare(row, other) if other and comparable(row, other) else "-"

        return cell

    def static(row: Figures) -> str:
        found = row["static"]
        return f"{found['uas']:.2f} / {found['las']:.2f}" if found else "-"

    return {
        **{"parser": text("title"), **UAS_LAS, "edits a sentence": EDITS},
        "UAS lost to the attack": uas_lost,
        "attacked UAS, over clean training": over(0, uas_gained),
        **LOST,
        "LAS lost, over clean training": over(0, of_counts(AttackedCounts.lost_beyond)),
        "attacked LAS, over clean training": over(0, of_counts(AttackedCounts.gained)),
        "attacked LAS, over equal steps": over(1, of_counts(AttackedCounts.gained)),
        "on the clean parser's adversaries, UAS / LAS": static,
    }


def defenses(
    rows: Sequence[Figures], clean: str, control: str, names: Sequence[str] = ("uas", "las")
) -> Columns:
    """Show what the attack takes from each way of training, and what it wins back of it.

    Both are of the last score; *minutes* and words a second are those of training.

    Args:
        rows: the figures of finished rows.
        clean: the row of the clean model, from which the others were trained on.
        control: the row without a defense.
        names: of scores.
    """
    finished = {(row["row"], row["attack"]): row for row in rows}

    def over(other: str, compare: Callable[[Figures, Figures], str]) -> Cell:
        """Compare a row that was trained on with another one under the same attack."""

        def cell(row: Figures) -> str:
            found = finished.get((other, row["attack"]))
            if found is None or row["row"] == clean or not comparable(row, found):
                return "-"
            return compare(row, found)

        return cell

    def over_control(row: Figures, first: Figures) -> str:
        second = finished.get((control, row["attack"]))
        if second is None or row is second or not comparable(row, second):
            return "-"
        return shown(counts(row).won_back_beyond(counts(first), counts(second)))

    def trained(cell: Cell) -> Cell:
        return lambda row: "-" if row["row"] == clean else cell(row)

    shown_scores = scores(names)
    *_, last, _ = shown_scores
    return {
        **{"system": text("title"), "attack": text("attack"), **shown_scores},
        f"{last.removeprefix('attacked ')} lost to the attack": lost,
        "lost, over clean training": over(
            clean, lambda row, first: shown(counts(row).lost_beyond(counts(first)))
        ),
        "won back %": over(clean, lambda row, first: shown(counts(row).won_back(counts(first)))),
        "won back, over control": over(clean, over_control),
        **{"steps": trained(text("steps")), "minutes": trained(minutes)},
        "words/s, of the control's": over(control, relative_speed),
    }


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


def shown(interval: Interval) -> str:
    """Return an estimate and its bounds."""
    return f"{interval.estimate:.1f} [{interval.lower:.1f}, {interval.upper:.1f}]"
