"""``robustparse annotate``: ask people about an attack's sentences, and score what they answer.

``annotate export`` writes blind pairs of sentences for annotators, and the key; ``annotate score``
reads what they answered, and how far they agree.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from rich.table import Table

from robustparse.annotation import questionnaire
from robustparse.annotation.questionnaire import QUESTIONS
from robustparse.annotation.score import score as score_answers
from robustparse.api.printed_tables import plain_table, print_table
from robustparse.errors import InputError
from robustparse.evaluation.finished_folders import read_finished
from robustparse.files.writing import write_json
from robustparse.options.arguments import checked
from robustparse.options.command import parsed_command

USAGE = """usage: robustparse annotate COMMAND [options]

  export      write blind pairs of an attack's sentences for annotators
  score       sum up what annotators answered, and how far they agree

annotate COMMAND --help tells more"""


def export(
    folder: str,
    out: str = "pairs.csv",
    key: str | None = None,
    annotators: int = 1,
    which: Literal["success", "changed"] = "success",
    limit: int | None = None,
    seed: int = 0,
) -> None:
    """Blind pairs of original and adversarial sentences as CSV, for human judgement.

    Args:
        folder: the output folder (--out) of a finished attack.
        out: the CSV file; with several annotators one file each, pairs_1.csv and on.
        key: the file that tells originals from adversarial sentences (pairs_key.json next to out).
        annotators: how many files, each with the same pairs in an order and on sides of its own.
        which: the sentences on which the attack succeeded, or all that it changed.
        limit: at most this many pairs, drawn from the seed.
        seed: of the choice of pairs, their order and their sides.
    """
    _, records = read_finished(Path(folder))
    pairs = [each for each in records if each["edited"] and (each["success"] or which == "changed")]
    target = Path(out)
    hidden = target.with_name(f"{target.stem}_key.json") if key is None else Path(key)
    files = questionnaire.export(pairs, target, hidden, annotators, seed, limit)
    for path in files:
        print(path)
    print(f"{hidden}  (the key: not for annotators)")


def score(key: str, files: list[str], out: str | None = None) -> None:
    """Unblind the answers of annotators: fractions, majorities and agreement.

    Args:
        key: the key that ``annotate export`` wrote.
        files: the answered CSV files, one per annotator.
        out: a JSON file for the scores.
    """
    scores = score_answers(Path(key), [Path(path) for path in files])
    if out is not None:
        write_json(Path(out), scores)
    print_table(_table(scores))


def _table(scores: dict[str, Any]) -> Table:
    annotators = f"{scores['annotators']} annotator{'s' if scores['annotators'] > 1 else ''}"
    counts = ("answers\n%", "majority\nitems", "agreement\n%", "kappa")
    table = plain_table(f"{scores['items']} pairs, {annotators}", ("question", "answer"), counts)
    table.columns[-1].no_wrap = False  # a wide kappa continues on the next line
    for question in QUESTIONS:
        values = scores[question]
        names = list(dict.fromkeys([*values["answers"], *values["majority"]]))
        for row, name in enumerate(names):
            percent = values["answers"].get(name)
            table.add_row(
                question if row == 0 else "",
                "no majority" if name == "none" else name,
                "-" if percent is None else f"{percent:.1f}",
                str(values["majority"].get(name, 0)),
                *(_agreement(values) if row == 0 else ("", "")),
                end_section=row == len(names) - 1,
            )
    return table


def _agreement(values: dict[str, Any]) -> tuple[str, str]:
    if values["agreement"] is None:
        return "-", "-"
    kind = str(values["kappa_kind"]).capitalize()
    kappa = "undefined" if values["kappa"] is None else f"{values['kappa']:.3f} ({kind})"
    return f"{values['agreement']:.1f}", kappa


def command(arguments: Sequence[str]) -> None:
    """Parse options and run."""
    name, rest = arguments[0] if arguments else "--help", arguments[1:]
    if name in ("-h", "--help"):
        print(USAGE)
    elif name == "export":
        parsed_command(export, checked(rest), "annotate export", ["folder"]).run()
    elif name == "score":
        parsed_command(score, checked(rest), "annotate score", ["key", "files"]).run()
    else:
        raise InputError(repr(name), key="annotate", expected="export or score")
