"""All examples of the attacks on a page: records that a script searches, pictures that it unpacks.

Every picture is drawn here, by `Pictures.draw`, so that the script knows no task. Pictures of 20
examples are deflated together, since they share most of their text: 2,000 parsed sentences add
3 MB to a page, a tenth of their pictures. The script inflates the 20 when one of them is opened.
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from robustparse.metrics import score_label
from robustparse.reports.attacked_systems import OUTCOMES, AttackedSentence, AttackedSystem
from robustparse.reports.certified_systems import CertifiedSentence, CertifiedSystem
from robustparse.tasks.certificate_drawing import VERDICTS

SHEET = 20  # pictures that are deflated together


@dataclass(frozen=True, slots=True)
class Browser:
    """What a page needs to browse examples.

    Args:
        data: of the script, as plain values for JSON: ``systems``, ``examples``, each with the
            number of its system and its edits by position, and ``sheets`` of ``sheet`` pictures in
            the order of the examples.
        outcomes: of the examples, those that there are.
        edits: numbers of edits that there are, ascending.
        systems: numbers of the systems that have examples, and their names.
        legends: HTML that explains the pictures, one of each task.
    """

    data: dict[str, Any]
    outcomes: Sequence[str]
    edits: Sequence[int]
    systems: Sequence[tuple[int, str]]
    legends: Sequence[Markup]


def browse(
    attacked: Sequence[AttackedSystem], certified: Sequence[CertifiedSystem] = ()
) -> Browser | None:
    """Pack all examples of the systems; None if there are none."""
    records, pictures = [], []
    for at, system in enumerate(attacked):
        for sentence in system.sentences:
            records.append(_record(at, sentence))
            pictures.append(system.task.pictures.draw(sentence.record))
    for at, proven in enumerate(certified, start=len(attacked)):
        records += [_record(at, sentence) for sentence in proven.sentences]
        pictures += [sentence.picture for sentence in proven.sentences]
    if not records:
        return None
    outcomes = {record["outcome"] for record in records}
    systems: list[AttackedSystem | CertifiedSystem] = [*attacked, *certified]
    names = [(at, system.name) for at, system in enumerate(systems) if system.sentences]
    legends = [system.task.pictures.legend for system in attacked]
    legends += [system.task.pictures.certificate_legend for system in certified]
    sheets = [pictures[start : start + SHEET] for start in range(0, len(pictures), SHEET)]
    return Browser(
        data={
            "systems": [
                {"name": system.name, "score": score_label(system.task.scores.headline)}
                for system in systems
            ],
            "examples": records,
            "sheets": [
                base64.b64encode(zlib.compress(json.dumps(sheet).encode(), 9)).decode()
                for sheet in sheets
            ],
            "sheet": SHEET,
        },
        outcomes=[outcome for outcome in (*OUTCOMES, *VERDICTS) if outcome in outcomes],
        edits=sorted({len(record["edits"]) for record in records}),
        systems=names,
        legends=[Markup(legend) for legend in dict.fromkeys(legends)],
    )


@cache
def script(name: str) -> Markup:
    """Return a script, the same for every page, as the content of its element.

    The marks around it let an XML parser read the page too.
    """
    code = Path(__file__).with_name(f"{name}.js").read_text("utf-8")
    return Markup(f"//<![CDATA[\n{code}//]]>")


@cache
def script_hash(name: str) -> str:
    """Return the source of a content policy that allows a script and nothing else."""
    digest = hashlib.sha256(script(name).encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _record(at: int, sentence: AttackedSentence | CertifiedSentence) -> dict[str, Any]:
    """Make the entry of a sentence; the edits of a certificate are those of its first witness."""
    record = sentence.record
    edits: Mapping[Any, str]
    if isinstance(sentence, CertifiedSentence):
        edits = sentence.words
    else:
        changed = sentence.record["adversarial_tokens"]
        edits = {position: changed[position] for position in sentence.record["edited"]}
    return {
        "system": at,
        "id": record["id"],
        "outcome": sentence.outcome,
        "context": record.get("context", []),
        "words": record["tokens"],
        "edits": edits,
        "scores": sentence.scores,
    }
