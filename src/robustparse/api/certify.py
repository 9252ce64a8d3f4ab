"""``robustparse.certify``: what stays right under every substitution that a table allows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from robustparse.api.attack import Examples, Victims, results_in, victim_source
from robustparse.api.data_sources import DataSource, data_source, examples_for, settings_of
from robustparse.api.inputs import system_name
from robustparse.api.printed_tables import as_text, certified_table
from robustparse.api.progress import certify_progress
from robustparse.api.victim_sources import VictimSource
from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.certificates.allowed_inputs import Edits
from robustparse.certificates.exhaustion import CAP, Exhaustive
from robustparse.data.columns import columns_of
from robustparse.errors import InputError, say, whole_number
from robustparse.evaluation.certificate_folder import certify_into, read_certificates
from robustparse.evaluation.certificate_records import (
    CertificateRecord,
    CertificateRun,
    CertifiedSummary,
)
from robustparse.metrics import PunctuationPolicy
from robustparse.tasks.registry import named


def certified(
    folder: Path,
    exhaustive: Exhaustive,
    victim: VictimSource,
    data: DataSource,
    substitutes: str,
    seed: int,
    device: str,
) -> CertifiedSummary:
    """Certify answers or resume, with a progress bar; return the summary.

    Args:
        folder: the output folder, in which an interrupted run resumes.
        exhaustive: tries the allowed inputs.
        victim: the source of the victim.
        data: the source of the sentences.
        substitutes: the name of the substitution table.
        seed: the seed of the built-in sample and of a fraction.
        device: where models compute.
    """
    opened, table = victim.open(device), exhaustive.substitutes
    examples = examples_for(opened, data, exhaustive.punctuation)
    # What distinguishes this run from others; the size of batches does not.
    run = {
        "victims": victim.names,
        "edits": list(exhaustive.edits),
        "cap": exhaustive.cap,
        "punctuation": exhaustive.punctuation,
        "substitutes": substitutes,
        "substitutes_settings": dict(table.settings),
        **settings_of(victim, data, seed, columns_of(examples)),
        "sha256": {**victim.digests(), "data": data.digest(), "substitutes": table.digest},
    }
    identity = cast(CertificateRun, run)
    with certify_progress(len(examples)) as progress:
        summary = certify_into(folder, exhaustive, examples, opened, identity, progress)
    if examples and not summary["n_changeable"]:
        say(
            f"{substitutes}: no word of {data.name} has a substitute that the model reads as "
            "another word, so the certified scores are the clean ones"
        )
    return summary


@dataclass(frozen=True, eq=False)
class CertifiedResults:
    """The certificates of a victim's answers; printed as a table of scores.

    Attributes:
        folder: the output folder; without ``out``, it is deleted with this object.
        name: the name of the victim.
        summary: the content of ``summary.json``: clean and certified scores.
        records: the lines of ``certificates.jsonl``, by id.
    """

    folder: Path
    name: str
    summary: CertifiedSummary
    records: list[CertificateRecord]

    def score(self, edits: Edits, score: str | None = None) -> float | None:
        """Return a certified score in percent; undecided answers count as wrong.

        Args:
            edits: a number of edits that was certified.
            score: the name of the score; by default the task's most important one.

        Raises:
            KeyError: this number of edits, or this score, was not computed.
        """
        headline = named(self.summary["task"]).scores.headline
        return self.summary["certified"][str(edits)]["lower"][score or headline]

    def __repr__(self) -> str:
        return as_text(certified_table(self.name, self.summary))


def certify(
    victim: Victims,
    examples: Examples,
    substitutes: SubstitutionTable | str | Path,
    *,
    edits: Sequence[Edits] | Edits = (1, 2, "all"),
    cap: int = CAP,
    punctuation: PunctuationPolicy = "none",
    limit: int | None = None,
    out: str | Path | None = None,
    device: str = "auto",
    batch_words: int | None = None,
) -> CertifiedResults:
    """Find the answers that no substitution of a table can break.

    >>> results = certify(model, examples, "table.jsonl", edits=[1, "all"])  # doctest: +SKIP
    >>> results.score("all")  # doctest: +SKIP

    Args:
        victim: see `robustparse.attack`.
        examples: see `robustparse.attack`.
        substitutes: the words that may take the place of a word: a table, or the file of one.
        edits: how many words may be changed at once: numbers from 1, or ``all``; or one of them.
        cap: the most inputs of a sentence that are tried. If more are allowed, answers that no
            tried input refutes are undecided.
        punctuation: which punctuation is left out of the scores of parsers.
        limit: certify only the first ``limit`` sentences.
        out: a folder for the certificates, in which the same call resumes; by default a temporary
            one.
        device: see `robustparse.attack`.
        batch_words: padded words per forward pass; by default what suits the device.

    Raises:
        InputError: an argument cannot be used.
    """
    name = "substitutes" if isinstance(substitutes, SubstitutionTable) else str(substitutes)
    if isinstance(substitutes, str | Path):
        substitutes = SubstitutionTable.read(substitutes)
    if not isinstance(substitutes, SubstitutionTable):
        expected = "a SubstitutionTable, as of robustparse.substitutes, or the file of one"
        raise InputError(f"got {substitutes!r:.60}", key="substitutes", expected=expected)
    listed = edits if isinstance(edits, Iterable) and not isinstance(edits, str) else [edits]
    several = [each if each == "all" else whole_number("edits", each) for each in listed]
    exhaustive = Exhaustive(substitutes, several, cap, punctuation, batch_words)
    source = victim_source(victim)

    def run_in(folder: Path) -> CertifiedResults:
        data = data_source(examples, limit=limit)
        summary = certified(folder, exhaustive, source, data, name, 0, device)
        records = read_certificates(folder)
        return CertifiedResults(folder, system_name(source.names), summary, records)

    return results_in(out, run_in)
