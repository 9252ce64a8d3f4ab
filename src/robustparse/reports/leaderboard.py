"""The leaderboard: a page with a table of entries for each task and data."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from robustparse import __version__
from robustparse.errors import InputError
from robustparse.evaluation.significance import score_in_percent
from robustparse.files.output_folders import check_no_input
from robustparse.files.writing import write_text
from robustparse.metrics import score_label
from robustparse.reports.entry import ENTRY, Entry, attack_name, commands_of, read_entry
from robustparse.reports.page import render
from robustparse.reports.tables import MISSING, formatted
from robustparse.reports.worst_of_attacks import TITLE
from robustparse.tasks.certificate_drawing import at_edits, edit_number
from robustparse.tasks.registry import named

CLEAN = "Clean"
Column = tuple[str, str]
"""Heading, and a key that separates columns with the same heading."""


@dataclass(frozen=True, slots=True)
class Board:
    """The entries of one task on the same sentences.

    Args:
        title: task and data.
        heads: the headings of the columns.
        rows: each entry, and its cells as text and as the value to sort by.
        commands: the commands of each entry.
    """

    title: str
    heads: list[str]
    rows: list[tuple[Entry, list[tuple[str, float | str]]]]
    commands: list[tuple[str, list[str]]]


def build_leaderboard(paths: Sequence[Path], out: Path) -> None:
    """Write the page of a leaderboard.

    Args:
        paths: files of entries, or folders with an ``entry.json`` in them or below.
        out: the HTML file.

    Raises:
        InputError: an entry is missing or damaged, or `out` cannot be written.
    """
    files = [file for path in paths for file in _entries(path)]
    check_no_input(out, map(str, files))
    boards: dict[tuple[str, str, tuple[int, ...]], list[Entry]] = {}
    for file in dict.fromkeys(file.resolve() for file in files):
        entry = read_entry(file)
        data = entry["data"]
        key = entry["task"], data["sha256"] or data["name"], tuple(entry["counted"])
        boards.setdefault(key, []).append(entry)
    made = [board(entries) for entries in boards.values()]
    page = render("leaderboard", title="Leaderboard", version=__version__, boards=made)
    write_text(out, page)


def _entries(path: Path) -> list[Path]:
    """Return the files of entries below a folder, or the only one."""
    files = sorted(path.rglob(ENTRY)) if path.is_dir() else [path]
    if not files:
        expected, remedy = f"an {ENTRY} in it", "write one with `robustparse share`"
        raise InputError(
            "no entry", path=path, key="--leaderboard", expected=expected, remedy=remedy
        )
    return files


def board(entries: Sequence[Entry]) -> Board:
    """Make the table of entries on the same sentences, the most robust first.

    Entries are ranked by the worst of their attacks; those with a single attack come after them.
    """
    task = named(entries[0]["task"])
    headline = task.scores.headline
    scores = [_scores(entry, headline) for entry in entries]
    columns = list(dict.fromkeys(column for row in scores for column in row))
    labels = [_label(column, columns) for column in columns]

    def rank(pair: tuple[Entry, object]) -> tuple[bool, float]:
        worst = pair[0]["worst_of_attacks"]
        if worst is not None:
            return False, -worst[headline][0]
        return True, -score_in_percent(pair[0]["attacks"][0]["right"], pair[0]["counted"])

    rows = []
    for entry, row in sorted(zip(entries, scores, strict=True), key=rank):
        values = [row.get(column) for column in columns]
        extra = entry["extra_data"] or ""
        cells = [(formatted(value), "" if value is None else value) for value in values]
        rows.append((entry, [*cells, (extra or MISSING, extra)]))
    data, size = entries[0]["data"]["name"], len(entries[0]["counted"])
    title = f"{task.name}: {score_label(headline)} on {size:,} sentences of {data}"
    commands = [(entry["name"], commands_of(entry)) for entry, _ in rows]
    return Board(title, ["System", *labels, "Extra data"], rows, commands)


def _scores(entry: Entry, score: str) -> dict[Column, float | None]:
    scores: dict[Column, float | None] = {(CLEAN, ""): entry["clean"][score]}
    worst = entry["worst_of_attacks"]
    scores[TITLE, ""] = None if worst is None else worst[score][0]
    for attack in entry["attacks"]:
        scores[attack_name(attack["run"]), attack["recipe"]] = attack["attacked"][score]
    for certified in entry["certified"]:
        table = Path(certified["run"].get("substitutes", "")).stem
        for edits in sorted(certified["certified"], key=edit_number):
            bounds = certified["certified"][edits]
            scores[f"Certified\n{at_edits(edits)}", table] = bounds["lower"][score]
    return scores


def _label(column: Column, columns: Sequence[Column]) -> str:
    """Return the heading of a column; attacks of one name are told apart by their digests."""
    name, which = column
    repeated = [each for each, _ in columns].count(name) > 1
    return f"{name}\n{which[:8]}" if repeated else name
