"""``robustparse verify``: run a part of a leaderboard entry again and compare it."""

import sys

from robustparse.api.inputs import Paths
from robustparse.api.printed_tables import plain_table, print_table, rounded
from robustparse.api.verify import verify as verified
from robustparse.cli.options import VictimOptions
from robustparse.metrics import score_label
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

    Every random choice of an attack follows from its seed and the sentence, so that on the same
    kind of processor the counts are those of the entry. The answers to the originals, each attack,
    and the worst of several attacks are compared by the headline score; success rates, certified
    scores and other scores are not checked.

    Args:
        entry: an entry.json, or its folder.
        sentences: how many sentences, drawn at random.
        data: the file of the sentences, or a quoted pattern of several; by default those that the
            entry names.
        checkpoint: the model; by default the one in the folder of the entry.
        victim: the system of an entry without a shared model, as for attack.
        seed: draws the sentences.
        tolerance: the highest percentage of differing sentences, in each row of the
            table; processors may cause a few.
        device: where the models compute: auto, cpu or cuda.
    """
    source = None
    if checkpoint is not None or victim is not None:
        source = VictimOptions(checkpoint=checkpoint, victim=victim).source()
    result = verified(
        entry,
        source,
        data=data,
        sentences=sentences,
        seed=seed,
        tolerance=tolerance,
        device=device,
    )
    label = score_label(result.headline)
    headings = (f"{label}, entry", f"{label}, now", "sentences that differ")
    table = plain_table("", [f"{result.n_sentences} sentences"], headings)
    for row in result.rows:
        percentages = rounded(row.stored, 2), rounded(row.current, 2)
        table.add_row(row.name, *percentages, str(row.differing))
    print_table(table)
    print(f"the entry {'holds' if result.holds else 'does not hold'}: {result.name}")
    if not result.holds:
        sys.exit(1)
