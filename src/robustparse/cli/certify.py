"""``robustparse certify``: what stays right under every substitution that a table allows."""

from pathlib import Path
from typing import Literal

from robustparse.api.certify import certified
from robustparse.api.inputs import system_name
from robustparse.api.printed_tables import certified_table, print_table
from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.certificates.exhaustion import CAP, Exhaustive
from robustparse.cli.options import ShardedDataOptions, VictimOptions, as_list
from robustparse.metrics import PunctuationPolicy


def certify(
    substitutes: str,
    out: str,
    data: ShardedDataOptions,
    victim: VictimOptions,
    edits: list[int | Literal["all"]] | int | Literal["all"] = [1, 2, "all"],  # noqa: B006
    cap: int = CAP,
    punctuation: PunctuationPolicy = "none",
    seed: int = 0,
    fraction: float = 1.0,
    batch_words: int | None = None,
) -> None:
    """Find the answers of a checkpoint, or a --victim, that no substitution of a table can break.

    Args:
        substitutes: a substitution table: the words that may take the place of a word.
        out: the folder for certificates.jsonl and summary.json. The same command resumes there.
        data: the sentences.
        victim: the model.
        edits: how many words may be changed at once: numbers from 1, or all for any number.
        cap: the most inputs of a sentence that are tried. If more are allowed, answers that no
            tried input refutes are undecided and count as not certified.
        punctuation: which punctuation is left out of the scores of parsers.
        seed: seed of the built-in sample and of the fraction.
        fraction: certify only this fraction of the sentences, drawn at random with the seed.
        batch_words: padded words per forward pass; by default what suits the device.
    """
    table, source = SubstitutionTable.read(substitutes), victim.source()
    exhaustive = Exhaustive(table, as_list(edits), cap, punctuation, batch_words)
    file, device = data.file(seed, fraction), victim.device
    summary = certified(Path(out), exhaustive, source, file, substitutes, seed, device)
    print_table(certified_table(system_name(source.names), summary))
