"""The opening paragraph of a report: the attack, and what it costs the models."""

from collections.abc import Sequence

from robustparse.evaluation.worst_of_attacks import WorstOfAttacks
from robustparse.metrics import score_label
from robustparse.reports.attacked_systems import AttackedSystem

_FEW = ("One model", "Two models", "Three models", "Four models", "Five models")


def summarize(rows: Sequence[AttackedSystem], worst: Sequence[WorstOfAttacks] = ()) -> str:
    """Write one paragraph about the systems, the first of which is compared with the others.

    A score that was not computed leaves its sentence out.

    Args:
        rows: the systems.
        worst: the worst of several attacks on each of them, if it was computed.
    """
    sentences = [_what_was_done(rows), _what_it_cost(rows[0])]
    if worst and not comparable(rows):
        for system in worst:
            score = system.task.scores.headline
            sentences.append(
                f"Under all of its {len(system.attacks)} attacks, “{system.name}” keeps "
                f"{score_label(score)} {system.worst[score].estimate:.1f} of "
                f"{system.clean[score]:.1f}."
            )
    elif len(rows) > 1:
        sentences += _compared(rows)
    return " ".join(sentence for sentence in sentences if sentence)


def comparable(rows: Sequence[AttackedSystem]) -> bool:
    """Tell whether the rows are one attack on several models, or several attacks on one model."""
    return same_attack(rows) or same_model(rows)


def same_attack(rows: Sequence[AttackedSystem]) -> bool:
    """Tell whether all rows come from the same attack on as many sentences and words.

    Where it is known what they were run with, that must be the same except for the model.
    """
    summaries = [row.summary for row in rows]
    attacks = {
        (summary["attack"], summary["n_sentences"], summary["n_words"]) for summary in summaries
    }
    return len(attacks) == 1 and len({row.compared for row in rows if row.compared is not None}) < 2


def same_model(rows: Sequence[AttackedSystem]) -> bool:
    """Tell whether all rows come from attacks on one known model, on the same sentences."""
    first = [sentence.words for sentence in rows[0].sentences]
    return rows[0].model is not None and all(
        row.model == rows[0].model and [sentence.words for sentence in row.sentences] == first
        for row in rows
    )


def _compared(rows: Sequence[AttackedSystem]) -> list[str]:
    """Say which model an attack costs least, or which attack costs the model most.

    The share won back is (best attacked - first attacked) / (first clean - first attacked), in the
    task's headline score.
    """
    first, scores = rows[0], [row.after for row in rows if row.after is not None]
    if len(scores) < len(rows) or not comparable(rows):
        return [
            "The systems are neither models scored on the same sentences under the same attack, "
            "with the same settings and seed, nor one model under several attacks on the same "
            "sentences, so their scores cannot be compared."
        ]
    if not same_attack(rows):
        worst = next(row for row in rows if row.after == min(scores))
        most = f"Of these attacks “{worst.name}” costs the model most."
        return [most] if worst is first else [most, _what_it_cost(worst)]
    best = next(row for row in rows if row.after == max(scores))
    if best is first:
        others = "The other one does not do" if len(rows) == 2 else "None of the others does"
        return [f"{others} better under attack."]
    return [_what_it_cost(best), _won_back(first, best)]


def _what_was_done(rows: Sequence[AttackedSystem]) -> str:
    models = len({row.model or row.name for row in rows})
    count = _FEW[models - 1] if models <= len(_FEW) else f"{models} models"
    done = f"{count} {'was' if models == 1 else 'were'} attacked by substituting words"
    means = [row.summary["edits_per_sentence"] for row in rows]
    edits = [mean for mean in means if mean is not None]
    if not edits:
        return f"{done}."
    low, high = f"{min(edits):.1f}", f"{max(edits):.1f}"
    mean = low if low == high else f"{low} to {high}"
    return f"{done}, {mean} per sentence on average, chosen to make the answer wrong."


def _what_it_cost(row: AttackedSystem) -> str:
    if row.before is None or row.after is None:
        return ""
    rate, skipped = row.summary["success_rate"], row.summary.get("n_skipped", 0)
    attacked = f" {row.summary['n_sentences'] - skipped} attacked" if skipped else ""
    worse = "" if rate is None else f"; {rate:.0f} % of the{attacked} sentences got worse"
    return (
        f"On the original sentences “{row.name}” has {score_label(row.task.scores.headline)} "
        f"{row.before:.1f}, on the perturbed ones {row.after:.1f}{worse}."
    )


def _won_back(first: AttackedSystem, best: AttackedSystem) -> str:
    if first.before is None or first.after is None or best.after is None:
        return ""
    lost = first.before - first.after
    if lost <= 0:
        return ""
    share = 100 * (best.after - first.after) / lost
    won = f"So “{best.name}” wins back {share:.0f} % of what “{first.name}” loses to the attack"
    if best.before is None:
        return f"{won}."
    gains = ", its gain on the original sentences included," if best.before > first.before else ""
    return f"{won}{gains} and loses {best.before - best.after:.1f} points instead of {lost:.1f}."
