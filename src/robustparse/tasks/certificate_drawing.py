"""Draws certificates for HTML pages: what is certified, and the witness of each refuted answer.

A certificate is a line of ``certificates.jsonl``. It is shown for the largest number of edits that
was certified.
"""

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from markupsafe import Markup

from robustparse.tasks.task import Record
from robustparse.tasks.text import template

CERTIFIED, REFUTED, UNDECIDED = VERDICTS = ("certified", "refuted", "undecided")

CERTIFICATE_LEGEND = (
    '<ul class="legend"><li>certified: the answer is right on every allowed text</li>'
    "<li>refuted: it is wrong on a text with the changed words in the list</li>"
    "<li>undecided: right on all texts tried, but not all allowed texts were</li></ul>"
)
"""Explains the pictures of whole answers."""


def most_edits(record: Record) -> str:
    """Return the largest number of edits that a certificate is about: a number, or ``all``."""
    every: list[str] = [*record["certified"]]
    return max(every, key=edit_number)


def edit_number(edits: str) -> float:
    """Return a number of edits as a number; ``all`` is infinite."""
    return inf if edits == "all" else int(edits)


def verdict(record: Record, score: str, position: int) -> str:
    """Tell whether a part of the answer is certified, refuted or undecided at `most_edits`.

    Args:
        record: a line of ``certificates.jsonl``.
        score: the score that judges the part.
        position: the position of a word; 0 for a whole answer.
    """
    edits = most_edits(record)
    if position in record["certified"][edits][score]:
        return CERTIFIED
    survived = record["survived"].get(edits, {}).get(score, ())
    return UNDECIDED if position in survived else REFUTED


def swaps(record: Record, witness: Record) -> list[tuple[str, str]]:
    """Return the changed words of a witness and their substitutes; empty for the original."""
    return [
        (record["tokens"][int(position)], new)
        for position, new in sorted(witness["words"].items(), key=lambda pair: int(pair[0]))
    ]


def at_edits(edits: str) -> str:
    """Name a number of edits: at 1 edit, at 2 edits, at any number of edits."""
    number = "any number of" if edits == "all" else edits
    return f"at {number} edit{'' if edits == '1' else 's'}"


def draw_answer(
    record: Record, score: str, gold: str, answer_of: Callable[[Record], Any], code: bool = False
) -> str:
    """Draw the certificate of a label or a form: the text, the answers, and the witnesses.

    Args:
        record: a line of ``certificates.jsonl``.
        score: the task's score.
        gold: the gold answer.
        answer_of: reads an answer of the record.
        code: whether answers are logical forms.
    """
    facts = [("gold", gold), ("answer", answer_of(record["clean"]))]
    state = f"{verdict(record, score, 0)} {at_edits(most_edits(record))}"
    rows = [
        (swaps(record, witness), [answer_of(witness["answer"])]) for witness in record["witnesses"]
    ]
    return draw_witnesses(record, "Answer", rows, facts=facts, state=state, code=code)


def draw_witnesses(
    record: Record,
    head: str,
    rows: Sequence[tuple[Sequence[tuple[str, str]], Sequence[str]]],
    picture: str = "",
    **values: Any,
) -> str:
    """Render a certificate as HTML.

    Args:
        record: a line of ``certificates.jsonl``.
        head: the heading of what the witnesses refute.
        rows: for each witness, its `swaps` and what is wrong on it.
        picture: an SVG element that shows the sentence; without one the text is written out.
        **values: of the template: ``facts`` (pairs of a name and an answer), ``state`` and
            ``code``.
    """
    shown = {"facts": [], "state": "", "code": False, **values}
    return template("certificate.html.j2").render(
        record=record, head=head, rows=rows, picture=Markup(picture), **shown
    )
