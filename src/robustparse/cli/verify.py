"""``robustparse verify``: run a part of a leaderboard entry again."""

import sys
from pathlib import Path
from typing import Any

from robustparse.api.inputs import Paths
from robustparse.api.printed_tables import plain_table, print_table, shown
from robustparse.api.verify import verify as verified
from robustparse.cli.options import DECODING, VictimOptions
from robustparse.metrics import score_label
from robustparse.pretrained.hub import WEIGHTS
from robustparse.reports.entry import read_entry
from robustparse.tasks.registry import named
from robustparse.victims.black_box import BlackBox


def verify(
    entry: str,
    sentences: int = 50,
    data: Paths | None = None,
    checkpoint: Paths | None = None,
    victim: BlackBox | None = None,
    seed: int = 0,
    tolerance: float = 2.0,
    device: str = "auto",
) -> None:
    """Run the attacks of an entry on some of its sentences; the exit status is 1 if they differ.

    Args:
        entry: an entry.json, or its folder.
        sentences: how many sentences, drawn at random.
        data: the file of the sentences, or a quoted pattern of several; by default those that the
            entry names.
        checkpoint: the model; by default the one in the folder of the entry.
        victim: the system of an entry without a shared model, as for attack.
        seed: draws the sentences.
        tolerance: the highest percentage of differing sentences, in the clean row and in each
            attack's row; processors may cause a few.
        device: where the models compute: auto, cpu or cuda.
    """
    path = Path(entry)
    stored = read_entry(path)
    weights = (path if path.is_dir() else path.parent) / WEIGHTS
    if checkpoint is None and victim is None and weights.exists():
        checkpoint = str(weights)
    run: dict[str, Any] = {**stored["attacks"][0]["run"]}
    decoding = {key: run[key] for key in DECODING if key in run} if checkpoint is not None else {}
    source = VictimOptions(checkpoint=checkpoint, victim=victim, **decoding).source()
    rows = verified(stored, source, data, sentences, seed, device)
    size = min(sentences, len(stored["counted"]))
    label = score_label(named(stored["task"]).scores.headline)
    headings = (f"{label}, entry", f"{label}, now", "sentences that differ")
    table = plain_table("", [f"{size} sentences"], headings)
    for row in rows:
        cells = (shown(row.claimed, 2), shown(row.found, 2), str(row.differing))
        table.add_row(row.name, *cells)
    print_table(table)
    holds = all(100 * row.differing <= tolerance * size for row in rows)
    print(f"the entry {'holds' if holds else 'does not hold'}: {stored['name']}")
    if not holds:
        sys.exit(1)
