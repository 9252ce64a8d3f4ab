"""The tables of ``docs/results.md``, from the figures that ``study.py`` keeps."""

from collections.abc import Sequence

import numpy as np

from robustparse.evaluation.significance import (
    Interval,
    Scores,
    paired_bootstrap,
    recovered_share,
)
from robustparse.tasks import task as tasks
from study_figures import kept
from study_rows import Study

WHEN = ("clean", "attacked")


def table(name: str, study: Study) -> str:
    """Return the finished rows of a study, as ``docs/results.md`` shows them."""
    rows = kept(name, study)
    if name.startswith("zheng2020"):
        return budget_table(rows)
    kinds = {"ewt_attacks": attack_table, "wang2021_filters": filter_table}
    kinds |= {"mr_attacks": text_table, "ewt_references": reference_table}
    if name in kinds:
        return kinds[name](rows)
    baseline, control = list(dict.fromkeys(row.name for row in study.rows))[:2]
    return defence_table(rows, baseline, control, tasks.named(study.task).scores)


def attack_table(rows: list[dict]) -> str:
    """Attacks beside each other; perplexities are medians over all sentences."""
    lines = [
        "| parser | attack | budget % | clean UAS | clean LAS | attacked UAS | attacked LAS "
        "| success % | edits | queries | sentences a second | perplexity before, after |",
        "|---" * 12 + "|",
    ]
    for row in rows:
        figures = [*_scores(row), row["queries_per_sentence"]["charged"]]
        budget = "-" if row["gamma"] is None else f"{100 * row['gamma']:.0f}"
        cells = [row["title"], row["attack"], budget, *(f"{value:.2f}" for value in figures)]
        cells.append(f"{row['sentences_per_second']:.2f}")
        cells.append(_perplexities(row))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def reference_table(rows: list[dict]) -> str:
    """Attacks with and without a demand; the harm left is a share of the LAS that the first loses.

    *Vetoed* is the share of the edits that reference parsers refused, and by class of tag.
    """
    lines = [
        "| parser | attack | demand | clean UAS | clean LAS | attacked UAS | attacked LAS "
        "| success % | strict success % | harm left % | vetoed % | vetoed % by class |",
        "|---" * 12 + "|",
    ]
    free: dict[str, dict] = {}
    for row in rows:
        recipe = row["attack"].removesuffix("_strict").removesuffix("_references")
        demand = row["attack"].removeprefix(recipe).strip("_") or "none"
        first = free.setdefault(f"{row['row']} {recipe}", row)
        left = "-" if row is first else shown(paired_bootstrap(_left, *_sides(first, row), seed=0))
        vetoed = row["candidates"].get("vetoed", {}).get("ReferenceParsers", {})
        shares = {name: _rounded(one["percent"]) for name, one in vetoed.items()}
        scores = [
            f"{value:.2f}" for value in (*_scores(row)[:5], row["strict_success_rate"]["uas"])
        ]
        cells = [row["title"], recipe, demand, *scores, left]
        cells.append(shares.pop("all", "-"))
        cells.append(", ".join(f"{name} {share}" for name, share in shares.items()) or "-")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _rounded(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def _left(scores: Scores) -> Scores:
    return 100 - recovered_share(scores)


def text_table(rows: list[dict]) -> str:
    """Attacks on classifiers; the share of words changed is a mean over the successes."""
    lines = [
        "| classifier | attack | texts | clean accuracy | attacked accuracy | success % "
        "| words changed % | queries |",
        "|---" * 8 + "|",
    ]
    for row in rows:
        figures = [row[when]["accuracy"] for when in WHEN]
        figures += [row["success_rate"], row["changed_of_successes"]]
        figures.append(row["queries_per_sentence"]["charged"])
        cells = [row["title"], row["attack"], str(row["n_sentences"])]
        lines.append("| " + " | ".join([*cells, *(f"{value:.1f}" for value in figures)]) + " |")
    return "\n".join(lines)


def filter_table(rows: list[dict]) -> str:
    """One attack with more and more filters: candidates are those left of a word's.

    Cosines are means over the changed words, perplexities medians over all sentences.
    """
    lines = [
        "| filters | candidates a word | clean UAS | clean LAS | attacked UAS | attacked LAS "
        "| success % | edits | queries | cosine | perplexity before, after |",
        "|---" * 11 + "|",
    ]
    for row in rows:
        *_, left = row["candidates"]["means"]["all"].values()
        figures = [*_scores(row), row["queries_per_sentence"]["charged"]]
        figures.append(row["word_similarity"]["mean"])
        cells = [row["title"], f"{left:.1f}", *(f"{value:.2f}" for value in figures)]
        cells.append(_perplexities(row))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def budget_table(rows: list[dict]) -> str:
    """Rows by budget, as Table 1 of Zheng et al. (2020); static scores as in their Table 2."""
    heads = ["parser", "budget %", "clean UAS", "clean LAS", "attacked UAS", "attacked LAS"]
    heads += ["success %", "edits a sentence"]
    tested_twice = any(row.get("static") for row in rows)
    heads += ["on the clean parser's adversaries, UAS / LAS"] if tested_twice else []
    lines = [f"| {' | '.join(heads)} |", f"{'|---' * len(heads)}|"]
    for row in rows:
        static = row.get("static")
        budget = f"{100 * row['gamma']:.0f}"
        cells = [row["title"], budget, *(f"{value:.2f}" for value in _scores(row))]
        if tested_twice:
            cells.append(f"{static['uas']:.2f} / {static['las']:.2f}" if static else "-")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def defence_table(
    rows: list[dict], baseline: str, control: str, scores: Sequence[str] = ("uas", "las")
) -> str:
    """Ways of training beside each other: what defences win back of the last score that is lost.

    *Minutes* are those of training; words a second are those of training too.
    """
    finished = {(figures["row"], figures["attack"]): figures for figures in rows}
    shown_scores = [name.upper() if len(name) == 3 else name for name in scores]
    heads = ["system", "attack", *(f"{when} {name}" for when in WHEN for name in shown_scores)]
    heads += ["success %", "won back %", "over control, points", "steps", "minutes"]
    heads += ["words/s, of the control's"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for (name, attack), row in finished.items():
        first, second = finished.get((baseline, attack)), finished.get((control, attack))
        back = over = steps = spent = speed = "-"
        if name != baseline and first:
            back = shown(paired_bootstrap(recovered_share, *_sides(first, row), seed=0))
            steps, spent = str(row["steps"]), minutes(row)
            speed = relative_speed(row, second) if second else "-"
        if name not in (baseline, control) and first and second:
            over = shown(_over_control(first, row, second))
        figures = [row[when][score] for when in WHEN for score in scores]
        figures.append(row["success_rate"])
        cells = [row["title"], attack, *(f"{value:.2f}" for value in figures), back, over]
        cells += [steps, spent, speed]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def minutes(row: dict) -> str:
    """Of its training; unknown if that was stopped on its way."""
    seconds = row["training_seconds"]
    return f"{seconds / 60:.1f}" if seconds else "-"


def relative_speed(row: dict, control: dict) -> str:
    """Training words a second over the control's; unknown if either was stopped on its way.

    All rows of a study have batches of as many words, so that steps tell words. Copies that an
    adversary appends to a batch do not count; those made before are words of the batch.
    """
    if not (row["training_seconds"] and control["training_seconds"]):
        return "-"
    own, clean = (one["steps"] / one["training_seconds"] for one in (row, control))
    return f"{own / clean:.2f}"


def _scores(row: dict) -> list[float]:
    """Clean and attacked UAS and LAS, success, edits a sentence."""
    scores = [row[when][score] for when in WHEN for score in ("uas", "las")]
    return [*scores, row["success_rate"], row["edits_per_sentence"]]


def _perplexities(row: dict) -> str:
    return ", ".join(f"{row['perplexity'][when]['median']:.0f}" for when in WHEN)


def _sides(baseline: dict, *rows: dict) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the baseline's correct parts, attacked and clean, the rows' attacked, and all."""
    counts = baseline["counts"]
    columns = [counts["attacked"], counts["clean"], *(row["counts"]["attacked"] for row in rows)]
    return list(map(np.array, columns)), np.array(counts["words"])


def _over_control(baseline: dict, row: dict, control: dict) -> Interval:
    def difference(scores: Scores) -> Scores:
        return recovered_share(scores[[0, 1, 2]]) - recovered_share(scores[[0, 1, 3]])

    return paired_bootstrap(difference, *_sides(baseline, row, control), seed=0)


def shown(interval: Interval) -> str:
    return f"{interval.estimate:.1f} [{interval.lower:.1f}, {interval.upper:.1f}]"
