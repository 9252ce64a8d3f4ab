"""Readers of utterances with logical forms, raw or not, and of perturbed texts."""

import json
from collections.abc import Sequence
from pathlib import Path

from damaged_files import rows_of

from damage import Reader, Value
from robustparse.data.utterances.forms import read_forms
from robustparse.data.utterances.raw import raw_utterance
from robustparse.evaluation.pairs import read_perturbed_pairs
from robustparse.tasks.semantic import semantic_task

FORMS = (
    b"what job are on platformid0\tjob ( ANS ) , platform ( ANS , platformid0 )\n"
    b"show job not in areaid0\tjob ( ANS ) , \\+ ( area ( ANS , areaid0 ) )\n"
)
RAW = (
    b"Jobs on Windows ?\tjob on platformid0\tjob ( ANS ) , platform ( ANS , platformid0 )\t"
    b'{"platformid0": "Windows"}\n'
    b"which jobs ?\twhich job\tjob ( ANS )\t{}\n"
)
PERTURBED = (
    b"what the job are on platformid0\twhat job are on platformid0\t"
    b"job ( ANS ) , platform ( ANS , platformid0 )\n"
    b"show me job\tshow job\tjob ( ANS )\n"
)


def utterance_readers() -> dict[str, Reader]:
    """Return the readers by what they read."""
    return {
        "logical forms": Reader(FORMS, _forms, _plain_forms, "a.tsv"),
        "raw utterances": Reader(RAW, _forms, _plain_forms, "a.tsv"),
        "perturbed texts": Reader(PERTURBED, _perturbed, _plain_perturbed, "a.tsv"),
    }


def _forms(path: Path) -> Value:
    found: list[Value] = []
    for example in read_forms(path):
        raw = raw_utterance(example)
        about = (raw.words, dict(raw.slots)) if raw else ()
        found.append((example.sentence.words, str(example.gold), *about))
    return found


def _plain_forms(content: bytes) -> Value:
    """Take rows of an utterance and its form, or all of a raw text, these two and its slots."""
    return [_plain_form(columns) for columns in rows_of(content)]


def _plain_form(columns: Sequence[str]) -> Value:
    if len(columns) < 4:
        text, form = columns
        return tuple(text.split()), form.strip()
    raw, text, form, slots = columns[:4]
    return tuple(text.split()), form.strip(), tuple(raw.split()), json.loads(slots)


def _perturbed(path: Path) -> Value:
    (pairs,) = read_perturbed_pairs(path.parent, semantic_task()).values()
    return [
        (pair.perturbed.sentence.words, pair.original.sentence.words, str(pair.original.gold))
        for pair in pairs
    ]


def _plain_perturbed(content: bytes) -> Value:
    return [
        (tuple(text.split()), tuple(original.split()), form.strip())
        for *_, text, original, form in rows_of(content)
    ]
