"""Attack folders written by hand: what quality and export read of them."""

import json
from pathlib import Path

from example_records import record

SENTENCES = [
    # before, after, success
    ("a dog barks", "a cat barks", True),
    ("the old dogs bark", "the new cats bark", True),
    ("dogs bark", "bees bark", False),
    ("cats sleep", "cats sleep", False),
    ("a dog barks", "a xylo barks", False),
]


def write_folder(folder: Path, sentences: list[tuple[str, str, bool]] = SENTENCES) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        record(10 + number, before, after, success=success)
        for number, (before, after, success) in enumerate(sentences)
    ]
    text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines)
    (folder / "examples.jsonl").write_text(text, encoding="utf-8")
    scores = {"uas": None, "las": None}
    summary = {
        "task": "dependency",
        "attack": "by hand",
        "n_sentences": len(lines),
        "n_words": 0,
        "clean": scores,
        "attacked": scores,
        "success_rate": None,
        "edits_per_sentence": None,
        "perplexity": {"clean": None, "attacked": None},
    }
    (folder / "summary.json").write_text(json.dumps(summary))
    return folder
