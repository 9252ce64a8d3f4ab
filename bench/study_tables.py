"""The tables of ``docs/results.md``, from the figures that ``study.py`` keeps.

A table is a mapping from the heads of its columns to what they show of a row's figures.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from recovery import harm_left, won_back, won_back_beyond
from robustparse.evaluation.significance import AttackedCounts
from robustparse.tasks import task as tasks
from study_cells import (
    Cell,
    Columns,
    budget,
    by_class,
    candidates_left,
    counts,
    demand,
    las_attacked,
    lost,
    minutes,
    number,
    of_counts,
    perplexities,
    recipe,
    relative_speed,
    scores,
    shown,
    similarity,
    strict,
    success,
    text,
    uas_attacked,
    uas_gained,
    uas_lost,
    unseen,
    vetoed,
    without_embedding,
    words_a_text,
)
from study_figures import kept
from study_origin import Figures, agree, comparable
from study_rows import Study


def table(name: str, study: Study) -> str:
    """Return the finished rows of a study, as ``docs/results.md`` shows them.

    Rows that rest on different parsers or recipes of one name are refused.
    """
    rows, names = kept(name, study), list(dict.fromkeys(row.name for row in study.rows))
    agree(rows)
    kinds = {"ewt_attacks": ATTACKS, "mr_attacks": ATTACKS_ON_TEXTS}
    kinds |= {"wang2021_filters": CONSTRAINTS, "zheng2020_table1": BUDGETS}
    kinds |= {"wang2021": UNSEEN, "wang2021_copies": UNSEEN}
    if name == "ewt_references":
        return markdown(references(rows), rows)
    if name == "ewt_relations":
        return markdown(relations(rows), rows)
    if name.startswith("jin2020") and name.endswith("_training"):
        return markdown(adversarial_training(rows, *names[:2]), rows)
    if name.startswith("jin2020"):
        shares = [row.fraction for row in study.rows if row.fraction is not None]
        return markdown(TEXTFOOLER | (ablations(rows, min(shares)) if shares else {}), rows)
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


SUCCESS = {"success %": success, "strict success %": strict}
UAS_LAS = {**scores(("uas", "las")), **SUCCESS}
SURE = {**UAS_LAS, "attacked UAS": uas_attacked, "attacked LAS": las_attacked}
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
# As Tables 3, 4, 6 and 7 of Jin et al. (2020).
TEXTFOOLER = {
    **{**ATTACKS_ON_TEXTS, "words a text": words_a_text, "similarity": similarity, **PERPLEXITIES},
    "accuracy lost to the attack": lost,
}


def ablations(rows: Sequence[Figures], most: float) -> Columns:
    """Compare ablations with the whole attack, as Tables 8 and 9 of Jin et al. (2020).

    An ablation is compared with the whole attack on the same classifier, also where both may
    change a share of the words, ``most``: they visit one word after the other until they succeed,
    so that a success with more changes is none within that share.
    """
    whole = {row["row"]: row for row in reversed(rows)}

    def within(row: Figures) -> AttackedCounts:
        own = counts(row)
        columns = zip(row["counts"]["changed"], own.clean, own.attacked, strict=True)
        attacked = [after if share <= most else before for share, before, after in columns]
        return replace(own, attacked=attacked)

    def over_whole(row: Figures, of: Callable[[Figures], AttackedCounts]) -> str:
        first = whole[row["row"]]
        return "-" if row is first else shown(of(row).lost_beyond(of(first)))

    share = f"within {100 * most:.1f} % of the words"
    return {
        "lost, over the whole attack": lambda row: over_whole(row, counts),
        f"lost {share}": lambda row: shown(within(row).lost()),
        f"lost {share}, over the whole attack": lambda row: over_whole(row, within),
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

    def left(row: Figures) -> str:
        first = free.get((row["row"], recipe(row), row["gamma"]))
        if first is None or first is row or not comparable(row, first):
            return "-"
        return shown(harm_left(counts(row), counts(first)))

    return {
        **{"parser": text("title"), "attack": recipe, "demand": demand, "budget %": budget},
        **{**SURE, **LOST, "harm left %": left},
        **{"vetoed %": lambda row: vetoed(row).get("all", "-"), "vetoed % by class": by_class},
    }


def relations(rows: Sequence[Figures]) -> Columns:
    """Show what an attack takes where it may change copulas and auxiliaries, and where it may not.

    The first of two rows keeps them; which of the words that the second changes are copulas
    or auxiliaries is shown in percent, of all and by class of tag.
    """
    kept = {(row["row"], row["attack"]): row for row in rows}

    def beyond(row: Figures) -> str:
        first = kept.get((row["row"], row["attack"].removesuffix("_copulas")))
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
            "changed too" if row["attack"].endswith("_copulas") else "kept"
        ),
        **{"budget %": budget, **SURE, **LOST, "lost, over kept": beyond},
        "copulas and auxiliaries, % of changed words": changed,
    }


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


def adversarial_training(rows: Sequence[Figures], clean: str, control: str) -> Columns:
    """Show what training on adversaries gains under attack, as Table 11 of Jin et al. (2020).

    Args:
        rows: the figures of finished rows.
        clean: the row of the clean model, from which the others were trained on.
        control: the row without adversaries.
    """
    finished = {row["row"]: row for row in rows}

    def over(other: str) -> Cell:
        def cell(row: Figures) -> str:
            found = finished.get(other)
            if found is None or row["row"] in (clean, other) or not comparable(row, found):
                return "-"
            return shown(counts(row).gained(counts(found)))

        return cell

    return {
        **{"system": text("title"), **scores(("accuracy",), digits=1)},
        "attacked accuracy, over clean training": over(clean),
        "attacked accuracy, over control": over(control),
        **{"steps": text("steps"), "minutes": minutes},
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
        return shown(won_back_beyond(counts(row), counts(first), counts(second)))

    def trained(cell: Cell) -> Cell:
        return lambda row: "-" if row["row"] == clean else cell(row)

    shown_scores = scores(names)
    *_, last, _ = shown_scores
    shown_scores |= SUCCESS if "uas" in names else {}
    return {
        **{"system": text("title"), "attack": text("attack"), **shown_scores},
        f"{last.removeprefix('attacked ')} lost to the attack": lost,
        "lost, over clean training": over(
            clean, lambda row, first: shown(counts(row).lost_beyond(counts(first)))
        ),
        "won back %": over(clean, lambda row, first: shown(won_back(counts(row), counts(first)))),
        "won back, over control": over(clean, over_control),
        **{"steps": trained(text("steps")), "minutes": trained(minutes)},
        "words/s, of the control's": over(control, relative_speed),
    }
