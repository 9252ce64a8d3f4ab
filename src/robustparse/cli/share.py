"""``robustparse share``: write the folder of a system: its model, its card and its entry."""

from robustparse.api.share import share as write_folder
from robustparse.cli.options import as_list


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

    All results are checked before anything is written.

    Args:
        folder: the output folder, which may already hold a shared model.
        results: output folders of attacks on the system, and of certify and evaluate.
        checkpoint: write this model into the folder: a checkpoint, or the folder of a training run.
        name: the name of the system; by default that of the folder.
        paper: the title or the address of the paper that describes it.
        extra_data: what it was trained on besides the training data of the corpus.
        license: the licence of the model, such as apache-2.0.
        data_license: the licence of the sentences, such as cc-by-sa-4.0.
    """
    card, entry = write_folder(
        folder,
        as_list(results),
        checkpoint,
        name=name,
        paper=paper,
        extra_data=extra_data,
        license=license,
        data_license=data_license,
    )
    print(card, entry, sep="\n")
