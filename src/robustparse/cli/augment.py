"""``robustparse augment``: write changed copies of training sentences, as additional data.

The changes come from an attack, or from operations such as surface noise, which need no model.
Zheng et al. (2020, section 3.4) attack a random half of the training sentences and add every copy,
the unchanged ones too (``--fraction 0.5 --keep all``); Wang et al. (2021) attack all and add the
changed ones. The attack runs in a folder next to the copies, where it can resume after an
interruption.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

from robustparse.api.attack_run import AttackRun
from robustparse.api.inputs import Paths, as_list
from robustparse.api.sources import Checkpoints, DataFile
from robustparse.api.tables import terminal
from robustparse.attacks.attack import Attack
from robustparse.attacks.constraints.similarity import TextSimilarity
from robustparse.cli.attack import attacked
from robustparse.data.datamodule import MAX_LENGTH, SAMPLE
from robustparse.data.fractions import FractionOf, draw_fraction
from robustparse.errors import InputError
from robustparse.evaluation.attack_run.attack_folder import Summary
from robustparse.evaluation.lines import EXAMPLES, each_line, read_adversarial
from robustparse.evaluation.perturbed import Copy, idle, perturbed
from robustparse.files import write_text, written
from robustparse.grammars import language_named
from robustparse.metrics import percent
from robustparse.models.load import Decoder
from robustparse.models.scores import Mean
from robustparse.models.victim import Precision
from robustparse.perturbations.perturbation import Perturbation
from robustparse.recipes.recipe import Recipe
from robustparse.tasks.semantic import SemanticTask
from robustparse.tasks.task import Task, named, task_of
from robustparse.types import Example

Keep = Literal["changed", "all", "pairs"]

EITHER = "give --attack and --checkpoint, or only --operations"
IN_ATTACKS = "put it into the attack's constraints"
TRIES = 5
"""How often operations are drawn for a sentence until its gold answer survives."""


def augment(
    data: str,
    out: str,
    attack: Attack | None = None,
    checkpoint: Paths | None = None,
    operations: list[Perturbation] | None = None,
    task: str | None = None,
    language: str | None = None,
    fraction: float | None = None,
    tokens: float | None = None,
    similarity: TextSimilarity | None = None,
    keep: Keep = "changed",
    limit: int | None = None,
    seed: int | None = None,
    decoder: Decoder | None = None,
    beam: int | None = None,
    device: str = "auto",
    devices: int = 1,
    precision: Precision = "32-true",
    mean: Mean = "probabilities",
    max_length: int = MAX_LENGTH,
    columns: list[str] | None = None,
    tagger: str | None = None,
    recipe: Recipe | None = None,
) -> None:
    """Write adversarial or perturbed copies of training sentences; an attack, run again, resumes.

    Args:
        data: a data file, or ``sample`` for the embedded training sentences.
        out: file of the copies, in the data's format and with its gold answers; a summary goes
            into a .json file next to it (.summary.json if the copies are in a .json file), and the
            attack into a folder that ends in .attack.
        attack: a recipe: the name of an installed one, such as ``pwws``, or the path of a file.
        checkpoint: the model to attack: a path; several paths make one ensemble.
        operations: operations to perturb with instead of an attack, such as ``typos,casing``; one
            is drawn for each sentence.
        task: with operations, the task of the data, such as ``semantic``, if the file name does not
            show it.
        language: with operations, the language of the logical forms: ``lambda``, ``prolog`` or the
            class path of a language in a trusted module. By default, the tokens show whether it is
            ``lambda`` or ``prolog``.
        fraction: copy only this fraction of the sentences, drawn at random with the seed. With
            ``keep changed``, sentences that the operations cannot change are replaced by others.
        tokens: instead of a fraction of the sentences, draw sentences until they hold this
            fraction of the words.
        similarity: with operations, leave out copies whose similarity to the original is below a
            minimum, as an automatic substitute for human judges: ``SentenceSimilarity`` uses a
            sentence encoder, ``VectorSimilarity`` word vectors. Whole texts are compared; the
            window is ignored.
        keep: write ``changed`` copies only, or ``all``, or ``pairs`` of a changed copy and its
            original for ``evaluate --perturbed``.
        limit: take only the first LIMIT sentences.
        seed: seed of all random choices and of the embedded sample; by default the
            recipe's own (0 if it has none).
        decoder: the decoder of a parser, instead of the one it was trained with.
        beam: hypotheses that beam search keeps, instead of as many as in training.
        device: where the model computes: auto, cpu or cuda.
        devices: the number of processes that share the sentences: one per GPU if device is a
            GPU, otherwise on the CPU. Results do not depend on it. Under torchrun the
            processes are those that it starts.
        precision: precision of all passes of the model; bf16-mixed is faster on processors with
            bfloat16 products, and may change a few answers.
        mean: what the models of an ensemble average: probabilities, or logits, which amounts to
            the geometric mean of their probabilities.
        max_length: words in the longest allowed sentence; a longer one is an error.
        columns: for texts in tables, the names of the columns of text and answer, such as
            '[review, stars]'; by default those of the model's training data, or usual names.
        tagger: for an attack only, gives tags to sentences without any, such as texts: nltk,
            spacy or stanza, with a model after a colon (spacy:en_core_web_md). Utterances are
            tagged by their raw text.
        recipe: the recipe of the attack; set by the command line.
    """
    copies, (drawn, unit) = Path(out), _drawn(fraction, tokens)
    seed = (0 if attack is None else attack.seed) if seed is None else seed
    file = DataFile(data, seed, limit, drawn, unit, max_length, columns, "train", tagger)
    if operations is not None and attack is None and checkpoint is None:
        kind = _task(data, task, language)
        _check_out(copies, data, kind)
        _write_perturbed(copies, _Perturbed(kind, operations, file, similarity, keep), keep)
    elif similarity is not None:
        raise InputError("applies to operations only", key="--similarity", remedy=IN_ATTACKS)
    elif language is not None:
        remedy = "leave it out: the checkpoint knows its language"
        raise InputError("applies to operations only", key="--language", remedy=remedy)
    elif operations is None and attack is not None and checkpoint is not None:
        folder, check = copies.with_suffix(".attack"), partial(_check_out, copies, data)
        victim = Checkpoints(as_list(checkpoint), decoder, beam, precision, mean)
        parts = (recipe or Recipe.of(attack), victim, file, seed, device, devices, check)
        _write_attacked(copies, AttackRun(folder, *parts), attack, file, keep)
    else:
        raise InputError("an attack needs a checkpoint, and operations take none", remedy=EITHER)


def _task(data: str, name: str | None, language: str | None) -> Task:
    """Return the task of data that operations change.

    Raises:
        InputError: the name is unknown, or the task has no logical forms.
    """
    if language is None:
        return task_of(data) if name is None else named(name)
    if name not in (None, SemanticTask.name):
        found = f"got {language!r}, but the task {name} has no logical forms"
        raise InputError(found, key="--language", remedy="leave it out")
    return SemanticTask(language_named(language).name)


Copies = Iterable[tuple[Example, Sequence[str], bool]]  # with the original words, if changed


class _Perturbed:
    """The copies that operations make of a file, and the number of examples without a copy.

    Args:
        task: the task of the gold answers.
        operations: one of them is drawn for each example.
        file: the file of the examples.
        similarity: judges the copies, see `augment`.
        keep: see `augment`; with ``changed``, examples without a copy are replaced by further
            examples, as long as there are any (Huang et al. 2021).
    """

    def __init__(
        self,
        task: Task,
        operations: Sequence[Perturbation],
        file: DataFile,
        similarity: TextSimilarity | None,
        keep: Keep,
    ) -> None:
        if file.tagger is not None:
            raise InputError("applies to attacks only", key="--tagger", remedy="leave it out")
        self.task, self.file, self.similarity = task, file, similarity
        self.operations = [one.name for one in operations]
        self._examples = new = file.read(task)
        wanted, made = len(new), list[Copy]()
        while new:
            made += perturbed(task, operations, new, file.seed, tries=TRIES)
            missing = wanted - len(made) if keep == "changed" else 0
            new = self._further(missing)
            self._examples = sorted([*self._examples, *new], key=lambda example: example.id)
        for warning in task.not_written(self._examples, file.name):
            print(f"robustparse: {warning}", file=sys.stderr)
        kept = self._similar(made)
        self._kept = {copy.example.id: copy.example for copy in kept}
        counts = Counter(copy.operation for copy in made)
        self.changed = {name: counts[name] for name in self.operations}
        self.counts = {
            "n_examples": len(self._examples),
            "n_without_copy": len(self._examples) - len(made),
            "n_dissimilar": len(made) - len(kept),
        }

    def _further(self, count: int) -> list[Example]:
        """Return the next examples in the random order of the file."""
        if not count or self.file.limit is not None or self.file.unit != "sentences":
            return []
        whole = self._whole
        fraction = min(1.0, (len(self._examples) + count) / len(whole))
        drawn = draw_fraction([1] * len(whole), fraction, "sentences", self.file.seed)
        known = {example.id for example in self._examples}
        return [whole[index] for index in drawn if whole[index].id not in known]

    @cached_property
    def _whole(self) -> list[Example]:
        return replace(self.file, fraction=1.0).read(self.task)

    def _similar(self, made: Sequence[Copy]) -> Sequence[Copy]:
        if self.similarity is None:
            return made
        texts = {one.id: " ".join(self.task.surface(one).words) for one in self._examples}
        measured = self.similarity.between(
            [" ".join(copy.text) for copy in made], [texts[copy.example.id] for copy in made]
        )
        enough = (measured >= self.similarity.minimum).tolist()
        return [copy for copy, kept in zip(made, enough, strict=True) if kept]

    def copies(self, keep: Keep) -> Copies:
        """Yield the copies, and with ``all`` also the examples without a copy."""
        for example in self._examples:
            if example.id in self._kept or keep == "all":
                copy = self._kept.get(example.id, example)
                yield copy, example.sentence.words, example.id in self._kept


def _write_perturbed(out: Path, source: _Perturbed, keep: Keep) -> None:
    """Write the copies; print how many examples have no copy, and how many copies are left out."""
    made: dict[str, Any] = {"task": source.task.name}
    made |= {} if source.task.language is None else {"language": source.task.language}
    made |= {"operations": source.operations, "seed": source.file.seed}
    if (similarity := source.similarity) is not None:
        made |= {"similarity": type(similarity).__name__, "measure": similarity.measure}
        made |= {"minimum": similarity.minimum}
    _write_report(out, source.file, keep, made | source.counts, source.copies(keep))
    total, none, unlike = source.counts.values()
    for warning in idle(source.changed, total):
        print(f"robustparse: {warning}", file=sys.stderr)
    said = f"{none} of {total} examples have no changed copy that keeps the gold answer"
    if source.similarity is not None:
        share = f"{percent(unlike, max(1, total - none)):.1f} %"
        less = f"similarity below {source.similarity.minimum:g}"
        said += f"; {unlike} of {total - none} copies ({share}) left out: {less}"
    terminal().print(said, soft_wrap=True)


def _write_attacked(out: Path, run: AttackRun, attack: Attack, file: DataFile, keep: Keep) -> None:
    """Attack; write the copies in the main process."""
    if summary := attacked(run, attack):
        _write_report(out, file, keep, summary, _attacked(summary, run.folder, keep))


def _attacked(summary: Summary, folder: Path, keep: Keep) -> Copies:
    """Yield the copies that an attack changed, or all copies."""
    task = named(summary["task"], summary.get("language"))
    for line, copy in zip(
        each_line(folder / EXAMPLES), read_adversarial(folder, task), strict=True
    ):
        if line["edited"] or keep == "all":
            yield copy, line.get("read", line["tokens"]), bool(line["edited"])


def _write_report(
    out: Path, file: DataFile, keep: Keep, made: Mapping[str, Any], copies: Copies
) -> None:
    """Write the copies, and a summary into the .json file next to them."""
    task = named(made["task"])
    counts = {"n_copies": 0, "n_copied_words": 0, "n_changed": 0}

    def counted() -> Iterator[tuple[Example, Sequence[str]]]:
        for copy, original, changed in copies:
            copy = task.as_copy(copy)
            counts["n_copies"] += 1
            counts["n_copied_words"] += len(copy.sentence)
            counts["n_changed"] += changed
            yield copy, original
        if not counts["n_copies"]:
            raise InputError(
                "nothing was changed, so there is no copy to write",
                path=out,
                remedy="choose other operations or another attack, or --keep all",
            )

    with written(out) as file_of_copies:
        if keep == "pairs":
            file_of_copies.writelines(task.pairs_file(counted()))
        else:
            new = ((copy, None, None) for copy, _ in counted())
            file_of_copies.writelines(task.file(new))
    drawn = {"data": file.name, "fraction": file.fraction, "fraction_of": file.unit, "keep": keep}
    report = {**made, **drawn, **counts}
    beside = ".summary.json" if out.suffix == ".json" else ".json"
    write_text(out.with_suffix(beside), json.dumps(report, indent=2) + "\n")
    terminal().print(f"{report['n_copies']} copies in {out}", soft_wrap=True)


def _drawn(fraction: float | None, tokens: float | None) -> tuple[float, FractionOf]:
    """Return the fraction to copy and its unit."""
    if fraction is not None and tokens is not None:
        raise InputError(
            "--fraction counts sentences and --tokens words", remedy="give one of them"
        )
    if tokens is not None:
        return tokens, "tokens"
    return 1.0 if fraction is None else fraction, "sentences"


def _check_out(out: Path, data: str, task: Task) -> None:
    """Check that the name of the output fits the data's format and is not the data file."""
    expected = task.ending(data)
    if out.suffix.lower() != expected:
        raise InputError(
            f"the copies have the format of {data}",
            path=out,
            key="--out",
            remedy=f"name a file that ends in {expected}",
        )
    if data != SAMPLE and out.exists() and Path(data).exists() and out.samefile(data):
        raise InputError("is the data file", path=out, key="--out", remedy="name another file")
