"""Adversarial examples as people look at them: the edits marked, the trees before and after.

For W&B as a table, for everyone as pages in the run's folder, one an evaluation.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from robustparse.evaluation.record import RobustnessRecord
from robustparse.evaluation.tally import Line
from robustparse.files import write_text
from robustparse.report.document import document
from robustparse.report.training import BUDGET
from robustparse.tasks.tree_drawing import LEGEND, TreePair, draw_pair
from robustparse.types import DependencyTree

FOLDER = "adversarial_examples"
COLUMNS = ("sentence", "original", "adversarial", "edits", "LAS before", "LAS after", "trees")
# In a table of W&B's there is no stylesheet of ours.
_MARK = '<style>mark{background:#fff1c2;font-weight:700}</style><body style="background:#fff">'


def tree_pair(line: Line) -> TreePair:
    """Return a line of ``examples.jsonl`` as a picture needs it."""
    gold, clean, attacked = (
        DependencyTree(tuple(line[key]["heads"]), tuple(line[key]["labels"]))
        for key in ("gold", "clean", "attacked")
    )
    words = (tuple(line["tokens"]), tuple(line["adversarial_tokens"]))
    return TreePair(*words, gold, clean, attacked, tuple(line["edited"]))


def marked(words: Sequence[str], edited: Sequence[int]) -> str:
    """Return a sentence as HTML, its edited words in ``<mark>``."""
    shown = [
        f"<mark>{escape(word)}</mark>" if position in edited else escape(word)
        for position, word in enumerate(words)
    ]
    return " ".join(shown)


def bracketed(words: Sequence[str], edited: Sequence[int]) -> str:
    """Return a sentence as plain text, its edited words in brackets."""
    return " ".join(f"[{w}]" if position in edited else w for position, w in enumerate(words))


def picture(line: Line) -> str:
    """Both sentences with their edits marked, both trees below, as HTML."""
    before, after = (marked(line[key], line["edited"]) for key in ("tokens", "adversarial_tokens"))
    trees = f'<div class="scroll">{draw_pair(tree_pair(line))}</div>'
    return f"<p>{before}</p><p>{after}</p>{trees}"


def example_rows(lines: Sequence[Line], pictures: Sequence[Any]) -> list[list[Any]]:
    """Return a row of ``COLUMNS`` for each line, ending with its picture."""
    return [
        [
            line["id"],
            bracketed(line["tokens"], line["edited"]),
            bracketed(line["adversarial_tokens"], line["edited"]),
            len(line["edited"]),
            line["clean"]["las"],
            line["attacked"]["las"],
            shown,
        ]
        for line, shown in zip(lines, pictures, strict=True)
    ]


def example_media(record: RobustnessRecord, step: int) -> dict[str, Any]:
    """Return what W&B shows of a record: examples as a table and as a page, the curve over the
    budgets.
    """
    import wandb

    media: dict[str, Any] = {}
    if record.examples:
        pictures = [wandb.Html(_MARK + picture(line), inject=False) for line in record.examples]
        rows = example_rows(record.examples, pictures)
        media["robust/examples"] = wandb.Table(columns=list(COLUMNS), data=rows)
        # Pictures in a table are part of an artifact, which a run's own files do not hold.
        media["robust/trees"] = wandb.Html(page(record.examples, step), inject=False)
    if len(record.curve) > 1:
        names = [name for name in ("uas", "las") if all(name in s for s in record.curve.values())]
        media["robust/curve"] = wandb.plot.line_series(
            xs=[100 * gamma for gamma in record.curve],
            ys=[[scores[name] for scores in record.curve.values()] for name in names],
            keys=[name.upper() for name in names],
            title="Score against edit budget",
            xname=BUDGET,
        )
    return media


class ExamplePages:
    """Writes ``adversarial_examples/step_00000199.html`` into a run's folder.

    Args:
        folder: the run's.
        keep: the pages of the run that is continued; those of an earlier run are removed at the
            first new one.
        before: keep those of earlier steps than this alone.
    """

    def __init__(self, folder: Path, keep: bool, before: int | None = None) -> None:
        self.folder = folder / FOLDER
        self._foreign_from = before if keep else 0

    def write(self, lines: Sequence[Line], step: int) -> None:
        """Write the page of an evaluation.

        Raises:
            InputError, OSError: it cannot be written.
        """
        if self._foreign_from is not None:
            for old in self.folder.glob("step_*.html"):
                if old.name >= _name(self._foreign_from):
                    old.unlink()
            self._foreign_from = None
        write_text(self.folder / _name(step), page(lines, step))


def _name(step: int) -> str:
    return f"step_{step:08}.html"


def page(lines: Sequence[Line], step: int) -> str:
    """Return a self-contained page about some adversarial examples."""
    figures = [
        f'<figure class="panel"><figcaption>Sentence {line["id"]}: LAS {line["clean"]["las"]:.1f} '
        f"before, {line['attacked']['las']:.1f} after</figcaption>{picture(line)}</figure>"
        for line in lines
    ]
    return document(f"Adversarial examples after step {step}", [LEGEND, *figures])
