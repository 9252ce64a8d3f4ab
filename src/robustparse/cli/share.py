"""``robustparse share``: write the folder of a system, with its card and its leaderboard entry."""

from pathlib import Path

from robustparse.api.share import share as shared
from robustparse.cli.options import as_list
from robustparse.reports.card import CARD
from robustparse.reports.entry import ENTRY
from robustparse.reports.new_entry import About


def share(
    folder: str,
    results: str | list[str],
    checkpoint: str | None = None,
    name: str | None = None,
    paper: str | None = None,
    extra_data: str | None = None,
    license: str | None = None,
    data_license: str | None = None,
) -> None:
    """Write a card and a leaderboard entry from results, and with --checkpoint the model itself.

    Args:
        folder: the folder of a shared model, or of another system.
        results: output folders of attacks on the system, and of certify and evaluate.
        checkpoint: write this model into the folder: a checkpoint, or the folder of a training run.
        name: the name of the system; by default that of the folder.
        paper: the title or the address of the paper that describes it.
        extra_data: what it was trained on besides the training data of the corpus.
        license: the licence of the model, such as apache-2.0.
        data_license: the licence of the sentences, such as cc-by-sa-4.0.
    """
    out = Path(folder)
    about = About(name or out.resolve().name, paper, extra_data, license, data_license)
    shared(out, [Path(each) for each in as_list(results)], about, checkpoint)
    print(out / CARD, out / ENTRY, sep="\n")
