"""``robustparse.encode``: make a robust encoding from a substitution table and training text."""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np

from robustparse.api.data_sources import DataFile, DataSource, GivenExamples, data_source
from robustparse.attacks.constraints.words import StopWords
from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.certificates.clustering import Fidelity, clusters
from robustparse.certificates.recoding import Recoding
from robustparse.certificates.word_answers import WordAnswers, substitutes_as_read
from robustparse.data.robust_encoding import Encoding
from robustparse.errors import InputError, check_choice
from robustparse.files.output_folders import check_output_file
from robustparse.files.paths import Sources, with_home
from robustparse.tasks.registry import all_tasks, named, task_of
from robustparse.tasks.task import Task
from robustparse.types import DependencyTree, Example, LogicalForm, Sentence, TagSequence

TrainingData: TypeAlias = Sources | DataFile | Sequence[Example]
"""A file of training text, or several, or its examples."""

StopWordList = Literal["nltk", "textfooler"]

FIDELITY: dict[Fidelity, float] = {"mutual_information": 0.7, "one_hot": 0.6}
"""Default by measure. About four of five English words with synonyms share a code with them all."""


def encode(
    substitutes: SubstitutionTable | str | Path,
    data: TrainingData,
    *,
    fidelity: float | None = None,
    measure: Fidelity | None = None,
    stop_words: StopWordList | None = None,
    task: str | None = None,
    out: str | Path | None = None,
) -> Encoding:
    """Make a robust encoding (Jones et al. 2020).

    >>> encoding = encode("table.jsonl", "train.conllu")  # doctest: +SKIP
    >>> encoding.code("Large")  # doctest: +SKIP
    'Big'

    Args:
        substitutes: a substitution table or its file.
        data: the training text, never the text on which a model is tested.
        fidelity: see the option of ``robustparse encode``.
        measure: see the option of ``robustparse encode``.
        stop_words: see the option of ``robustparse encode``.
        task: the task of the data, if the file name does not show it.
        out: a file for the encoding.

    Returns:
        The encoding. Its settings hold the arguments, the digests of table and data and, under
        ``tokens``, what it merges (`Recoding`).

    Raises:
        InputError: an argument cannot be used, a file is missing or malformed, or the table has no
            word of the data.
    """
    source = data if isinstance(data, DataFile) else data_source(data, "data", split="train")
    if out is not None:
        table = () if isinstance(substitutes, SubstitutionTable) else (str(substitutes),)
        out = with_home(out)
        check_output_file(out, [*source.names, *table])
    if not isinstance(substitutes, SubstitutionTable):
        substitutes = SubstitutionTable.read(substitutes)
    kind = _task(source, task)
    examples = source.sentences if isinstance(source, GivenExamples) else source.read(kind)
    words = WordAnswers.of(examples)
    by_word = any(isinstance(each.gold, DependencyTree | TagSequence) for each in examples)
    measure = measure or ("mutual_information" if by_word else "one_hot")
    check_choice("measure", measure, get_args(Fidelity))
    if measure == "mutual_information" and isinstance(examples[0].gold, LogicalForm):
        problem = "codes cannot tell logical forms, which nearly every text has of its own"
        raise InputError(problem, key="measure", remedy="choose one_hot")
    weight = FIDELITY[measure] if fidelity is None else fidelity
    read = substitutes_as_read(examples, substitutes, kind.files)
    if not any(read.values()):
        problem = f"has no substitutes for any word of {source.name}"
        remedy = "make it for this data with `robustparse substitutes`"
        raise InputError(problem, key="substitutes", remedy=remedy)
    made = clusters(words, read, weight, measure, _stop_words(words, stop_words))
    tokens = Recoding.of(Encoding(made), words.counts, read)
    encoding = Encoding(
        made,
        {
            "substitutes": substitutes.digest,
            "data": source.digests(),
            "fidelity": weight,
            "measure": measure,
            "stop_words": stop_words,
            "tokens": asdict(tokens),
        },
    )
    if out is not None:
        encoding.write(out)
    return encoding


def _task(source: DataSource, name: str | None) -> Task:
    """Return the task of the data."""
    if name is not None:
        return named(name)
    if isinstance(source, DataFile):
        return task_of(source.names[0])
    kinds = {task.answers.gold_type: task for task in all_tasks()}
    return kinds.get(type(source.sentences[0].gold), named("classification"))


def _stop_words(words: WordAnswers, source: StopWordList | None) -> Collection[str]:
    """Return the stop words among the training words."""
    if source is None:
        return ()
    every = tuple(words.answers)
    attackable = StopWords(source=source).attackable(Example(0, Sentence(every), None))
    return {every[index] for index in np.flatnonzero(~attackable)}
