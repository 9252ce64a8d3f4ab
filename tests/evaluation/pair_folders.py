"""Attack folders written by hand: what quality and export read of them."""

import json
from pathlib import Path
from typing import Any

SENTENCES = [
    # before, after, success
    ("a dog barks", "a cat barks", True),
    ("the old dogs bark", "the new cats bark", True),
    ("dogs bark", "bees bark", False),
    ("cats sleep", "cats sleep", False),
    ("a dog barks", "a xylo barks", False),
]


def line(id_: int, before: str, after: str, success: bool) -> dict[str, Any]:
    return {
        "id": id_,
        "tokens": before.split(" "),
        "adversarial_tokens": after.split(" "),
        "success": success,
    }


def write_folder(folder: Path, sentences: list[tuple[str, str, bool]] = SENTENCES) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [line(10 + number, *one) for number, one in enumerate(sentences)]
    text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines)
    (folder / "examples.jsonl").write_text(text, encoding="utf-8")
    summary = {"task": "dependency", "perplexity": {"clean": None, "attacked": None}}
    (folder / "summary.json").write_text(json.dumps(summary))
    return folder
