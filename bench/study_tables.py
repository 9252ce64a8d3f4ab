"""The tables of ``docs/results.md``, from the figures that ``study.py`` keeps."""

from collections.abc import Sequence

from robustparse.evaluation.losses import AttackedCounts
from robustparse.evaluation.significance import Interval
from robustparse.tasks import task as tasks
from study_figures import kept
from study_rows import Study

WHEN = ("clean", "attacked")


def table(name: str, study: Study) -> str:
    """Return the finished rows of a study, as ``docs/results.md`` shows them."""
    rows = kept(name, study)
    if name == "zheng2020_table2":
        return copies_table(rows, [row.name for row in study.rows])
    kinds = {"ewt_attacks": attack_table, "wang2021_filters": filter_table}
    kinds |= {"mr_attacks": text_table, "zheng2020_table1": budget_table}
    if name in kinds:
        return kinds[name](rows)
    baseline, control = list(dict.fromkeys(row.name for row in study.rows))[:2]
    return defense_table(rows, baseline, control, tasks.named(study.task).scores)


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
    """Rows by budget, as Table 1 of Zheng et al. (2020)."""
    lines = [
        "| parser | budget % | clean UAS | clean LAS | attacked UAS | attacked LAS | success % "
        "| edits a sentence |",
        "|---" * 8 + "|",
    ]
    for row in rows:
        cells = [row["title"], f"{100 * row['gamma']:.0f}"]
        cells += [f"{value:.2f}" for value in _scores(row)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def copies_table(rows: list[dict], names: Sequence[str]) -> str:
    """Three rows a parser, as Table 2 of Zheng et al. (2020): clean, of equal steps, on copies.

    Gains under attack are over the rows before; static scores, as theirs, are those on the clean
    parser's adversaries.

    Args:
        rows: the figures of finished rows.
        names: of all rows.
    """
    heads = ["parser", "clean UAS", "clean LAS", "attacked UAS", "attacked LAS", "success %"]
    heads += ["edits a sentence", "LAS lost to the attack", "lost, over clean training"]
    heads += ["attacked LAS, over clean training", "over equal steps"]
    heads += ["on the clean parser's adversaries, UAS / LAS"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    finished = {row["row"]: row for row in rows}
    for row in rows:
        place, own = names.index(row["row"]), _counts(row)
        before = [finished.get(name) for name in names[place - place % 3 : place]]
        clean, equal = (_counts(one) if one else None for one in (*before, None, None)[:2])
        cells = [row["title"], *(f"{value:.2f}" for value in _scores(row)), shown(own.lost())]
        cells.append(shown(own.lost_beyond(clean)) if clean else "-")
        cells += [shown(own.gained(one)) if one else "-" for one in (clean, equal)]
        static = row["static"]
        cells.append(f"{static['uas']:.2f} / {static['las']:.2f}" if static else "-")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def defense_table(
    rows: list[dict], baseline: str, control: str, scores: Sequence[str] = ("uas", "las")
) -> str:
    """Ways of training side by side: what the attack takes, and what a defense wins back.

    Both are of the last score; *minutes* and words a second are those of training.
    """
    shown_scores = [name.upper() if len(name) == 3 else name for name in scores]
    lost = f"{shown_scores[-1]} lost to the attack"
    heads = ["system", "attack", *(f"{when} {name}" for when in WHEN for name in shown_scores)]
    heads += ["success %", lost, "lost, over clean training", "won back %"]
    heads += ["won back, over control", "steps", "minutes", "words/s, of the control's"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    finished = {(row["row"], row["attack"]): row for row in rows}
    for (name, attack), row in finished.items():
        first, second = (finished.get((other, attack)) for other in (baseline, control))
        cells = [row["title"], attack]
        cells += [f"{row[when][score]:.2f}" for when in WHEN for score in scores]
        cells += [f"{row['success_rate']:.2f}", shown(_counts(row).lost())]
        cells += _won(row, first, second) if first and name != baseline else ["-"] * 6
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _won(row: dict, clean: dict, control: dict | None) -> list[str]:
    """Compare a defense, or the control itself, with the clean model and the control."""
    own, first = _counts(row), _counts(clean)
    beside = control is not None and row is not control
    over = shown(own.won_back_beyond(first, _counts(control))) if beside else "-"
    speed = relative_speed(row, control) if control else "-"
    gains = [shown(own.lost_beyond(first)), shown(own.won_back(first)), over]
    return [*gains, str(row["steps"]), minutes(row), speed]


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


def _counts(row: dict) -> AttackedCounts:
    counts = row["counts"]
    return AttackedCounts(counts["words"], counts["clean"], counts["attacked"])


def shown(interval: Interval) -> str:
    """Return an estimate and its bounds, a rounded zero without a sign."""
    return f"{interval.estimate:.1f} [{interval.lower:.1f}, {interval.upper:.1f}]"
