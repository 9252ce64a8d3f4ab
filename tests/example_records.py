"""Records of ``examples.jsonl``, complete as an attack writes them."""

from typing import Any


def record(id_: int, before: str = "a dog barks", after: str | None = None, **more: Any) -> Any:
    """The record of a sentence; other fields by their names."""
    tokens, new = before.split(" "), (after or before).split(" ")
    tree = {"heads": list(range(len(tokens))), "labels": ["dep"] * len(tokens)}
    right = {**tree, "correct_heads": len(tokens), "correct_labels": len(tokens)}
    return {
        "id": id_,
        "tokens": tokens,
        "adversarial_tokens": new,
        "edited": [i for i, (a, b) in enumerate(zip(tokens, new, strict=True)) if a != b],
        "gold": tree,
        "clean": right,
        "attacked": right,
        "counted": len(tokens),
        "targeted": True,
        "skipped": False,
        "success": False,
        "queries": {"charged": 1, "unique": 1},
        "edited_tags": [],
        "candidates": {"slots": 0, "sums": {"all": {"proposed": 0}}},
        "unseen": None,
        **more,
    }
