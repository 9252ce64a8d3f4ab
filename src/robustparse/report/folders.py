"""Reading what `robustparse attack` wrote: figures, curves and the sentences worth showing.

A folder holds `summary.json`, `examples.jsonl` and, optionally, `curves.json`. Every complaint is
an `InputError` that names the file, the line or key, what was found and what was expected.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from robustparse.errors import InputError
from robustparse.evaluation.lines import EXAMPLES, SUMMARY
from robustparse.evaluation.pairs import REMEDY
from robustparse.files import read_text
from robustparse.report.fields import Json, figure, get, is_number, parsed, parsed_any
from robustparse.report.plots import Curve, Plot
from robustparse.report.runs import attack_key, parser_key, read_run
from robustparse.tasks.tree_drawing import TreePair
from robustparse.types import DependencyTree


@dataclass(frozen=True, slots=True)
class SystemRow:
    """One system's figures; scores and rates in percent, None where not computed.

    Args:
        name: the folder's name.
        attack: the attack's name.
        n_sentences: attacked sentences.
        n_words: their words.
        clean_uas, clean_las: on the original sentences.
        attacked_uas, attacked_las: on the perturbed sentences.
        success_rate: sentences in which the attack lowered the score.
        edits_per_sentence: substituted words a sentence.
        edit_rate: substituted words, in percent of the words.
        run: what the attack was run with, the parser apart; None where that is not known.
        parser: the parser, known by its weights; None where that is not known.
    """

    name: str
    attack: str
    n_sentences: int
    n_words: int
    clean_uas: float | None
    clean_las: float | None
    attacked_uas: float | None
    attacked_las: float | None
    success_rate: float | None
    edits_per_sentence: float | None
    edit_rate: float | None
    run: str | None = None
    parser: str | None = None


@dataclass(frozen=True, slots=True)
class AttackFolder:
    """What one folder holds.

    Args:
        row: the figures of `summary.json`.
        plots: the plots of `curves.json`, or none.
        pairs: every sentence of `examples.jsonl` that the attack succeeded on.
        summary: all of `summary.json`.
    """

    row: SystemRow
    plots: tuple[Plot, ...]
    pairs: tuple[TreePair, ...]
    summary: Json = field(default_factory=dict)


def read_folder(folder: Path, name: str) -> AttackFolder:
    """Read one attack's output folder.

    Args:
        folder: the folder.
        name: how the report calls the system.

    Raises:
        InputError: the folder or a file is missing or is not as `attack` writes it.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; {REMEDY}")
    path = folder / SUMMARY
    summary = parsed(read_text(path), str(path))
    row = _row(summary, path, name)
    lines = read_text(folder / EXAMPLES).split("\n")  # U+2028 may stand in a word
    pairs = [
        _pair(parsed(line, where), where)
        for number, line in enumerate(lines, 1)
        if line.strip() and (where := f"{folder / EXAMPLES}:{number}")
    ]
    curves = folder / "curves.json"
    plots = _plots(curves) if curves.exists() else ()
    return AttackFolder(row, plots, tuple(pair for pair in pairs if pair is not None), summary)


def most_telling(pairs: Sequence[TreePair], count: int = 3) -> list[TreePair]:
    """Choose the sentences that show best what an attack does.

    Preferred are one or two edits in 6 to 14 words; among those, the ones in which most words
    outside the substituted ones changed their head or label, then the ones with fewest edits and
    words. Each original sentence is shown once.
    """

    def rank(pair: TreePair) -> tuple[bool, int, int, int]:
        length = len(pair.words_before)
        readable = len(pair.edited) in (1, 2) and 6 <= length <= 14
        return not readable, -len(changed_elsewhere(pair)), len(pair.edited), length

    best: dict[tuple[str, ...], TreePair] = {}
    for pair in sorted(pairs, key=rank):
        best.setdefault(pair.words_before, pair)
    return list(best.values())[:count]


def changed_elsewhere(pair: TreePair) -> list[int]:
    """List positions of words, not substituted ones, whose head or label the attack changed."""
    before = zip(pair.before.heads, pair.before.labels, strict=True)
    after = zip(pair.after.heads, pair.after.labels, strict=True)
    changed = [i for i, (b, a) in enumerate(zip(before, after, strict=True)) if b != a]
    return [i for i in changed if i not in pair.edited]


def wrong_words(gold: DependencyTree, tree: DependencyTree) -> int:
    """Count the words whose head or label is not the gold one."""
    right = zip(gold.heads, gold.labels, strict=True)
    found = zip(tree.heads, tree.labels, strict=True)
    return sum(r != f for r, f in zip(right, found, strict=True))


def _row(record: Json, path: Path, name: str) -> SystemRow:
    task = get(record, "task", str, str(path))
    if task != "dependency":
        raise InputError(f"{path}: task is {task!r}; the report shows 'dependency' only")
    clean, attacked = (get(record, key, dict, str(path)) for key in ("clean", "attacked"))
    run = read_run(path.parent)
    return SystemRow(
        name=name,
        attack=get(record, "attack", str, str(path)),
        n_sentences=get(record, "n_sentences", int, str(path)),
        n_words=get(record, "n_words", int, str(path)),
        clean_uas=figure(clean, "uas", f"{path}: clean"),
        clean_las=figure(clean, "las", f"{path}: clean"),
        attacked_uas=figure(attacked, "uas", f"{path}: attacked"),
        attacked_las=figure(attacked, "las", f"{path}: attacked"),
        success_rate=figure(record, "success_rate", str(path)),
        edits_per_sentence=figure(record, "edits_per_sentence", str(path)),
        edit_rate=figure(record, "edit_rate", str(path)),
        run=attack_key(run),
        parser=parser_key(run),
    )


def _pair(record: Json, where: str) -> TreePair | None:
    """Read the sentence of a line, or None where the attack failed."""
    before, after = (_words(record, key, where) for key in ("tokens", "adversarial_tokens"))
    if len(before) != len(after):
        raise InputError(
            f"{where}: tokens has {len(before)} words and adversarial_tokens {len(after)}; "
            f"expected the same number; {REMEDY}"
        )
    gold, clean, attacked = (
        _tree(get(record, key, dict, where), len(before), f"{where}: {key}")
        for key in ("gold", "clean", "attacked")
    )
    edited = tuple(i for i, (b, a) in enumerate(zip(before, after, strict=True)) if b != a)
    pair = TreePair(before, after, gold, clean, attacked, edited)
    return pair if get(record, "success", bool, where) else None


def _tree(record: Json, n: int, where: str) -> DependencyTree:
    heads, labels = get(record, "heads", list, where), _words(record, "labels", where)
    good = all(isinstance(h, int) and not isinstance(h, bool) and 0 <= h <= n for h in heads)
    if len(heads) != n or len(labels) != n or not good:
        raise InputError(
            f"{where}: expected {n} heads from 0 to {n} and {n} labels, got heads {heads!r} and "
            f"{len(labels)} labels; {REMEDY}"
        )
    return DependencyTree(tuple(heads), labels)


def _words(record: Json, key: str, where: str) -> tuple[str, ...]:
    words = get(record, key, list, where)
    if not words or not all(isinstance(word, str) for word in words):
        raise InputError(f"{where}: {key} must be a list of strings, got {words!r}; {REMEDY}")
    return tuple(words)


def _plots(path: Path) -> tuple[Plot, ...]:
    found = parsed_any(read_text(path), str(path))
    records = found if isinstance(found, list) else [found]
    plots = []
    for number, record in enumerate(records):
        where = f"{path}: plot {number}" if isinstance(found, list) else str(path)
        if not isinstance(record, dict):
            raise InputError(f"{where}: expected an object with title and curves, got {record!r}")
        title, x, y = (get(record, key, str, where) for key in ("title", "x_label", "y_label"))
        curves = tuple(_curve(curve, where) for curve in get(record, "curves", list, where))
        plots.append(Plot(title, x, y, curves))
    return tuple(plots)


def _curve(record: object, where: str) -> Curve:
    if not isinstance(record, dict):
        raise InputError(f"{where}: a curve must be an object with name, x and y, got {record!r}")
    name = get(record, "name", str, where)
    x, y = (get(record, key, list, f"{where}: {name}") for key in ("x", "y"))
    numbers = all(is_number(v) for v in x) and all(v is None or is_number(v) for v in y)
    if len(x) != len(y) or not numbers or all(v is None for v in y):
        raise InputError(f"{where}: {name}: x and y must be as many numbers, got {x!r} and {y!r}")
    points = [(a, b) for a, b in zip(x, y, strict=True) if b is not None]
    return Curve(name, tuple(a for a, _ in points), tuple(b for _, b in points))
