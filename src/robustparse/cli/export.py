"""``robustparse export``: blind pairs of sentences for annotators, and the key."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from robustparse.annotation import questionnaire
from robustparse.cli.common.inputs import instantiate_options, options_of, parse_options
from robustparse.evaluation.pairs import read_pairs


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
        folder: of a finished attack.
        out: the CSV file; with several annotators one file each, pairs_1.csv and on.
        key: the file that tells originals from adversarial sentences (pairs_key.json beside out).
        annotators: how many files, each with the same pairs in an order and on sides of its own.
        which: the sentences on which the attack succeeded, or all that it changed.
        limit: only so many pairs, drawn from the seed.
        seed: of the choice of pairs, their order and their sides.
    """
    pairs = [one for one in read_pairs(Path(folder)) if one.changed]
    if which == "success":
        pairs = [one for one in pairs if one.success]
    to = Path(out)
    hidden = to.with_name(f"{to.stem}_key.json") if key is None else Path(key)
    files = questionnaire.export(pairs, to, hidden, annotators, seed, limit)
    for path in files:
        print(path)
    print(f"{hidden}  (the key: not for annotators)")


def command(arguments: Sequence[str]) -> None:
    """Parse options and run."""
    parser = options_of(export, "export", skip={"folder"})
    parser.add_argument("folder", help="of a finished attack")
    export(**instantiate_options(parser, parse_options(parser, arguments)))
