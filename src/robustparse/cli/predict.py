"""``robustparse predict``: write a model's answers on a file or on standard input."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from robustparse.api.data_sources import DataFile
from robustparse.api.inputs import Paths, check_same_kind
from robustparse.api.printed_tables import terminal
from robustparse.api.victim_sources import Checkpoints, known_to
from robustparse.cli.options import ShardOptions, TextOptions, VictimOptions
from robustparse.cli.streams import Stream, standard_output
from robustparse.cli.text_pieces import RAW, STANDARD, TextPieces, display_name, ending_of
from robustparse.data.read_options import FileUse, ReadOptions
from robustparse.data.shard import Shard
from robustparse.data.tables import is_dataset
from robustparse.errors import InputError, check_least, say
from robustparse.evaluation.clean import AnsweringVictim, predictions
from robustparse.evaluation.shards import remove_record, write_shard
from robustparse.files.compression import plain_ending, plain_name
from robustparse.files.output_folders import check_no_input
from robustparse.files.writing import write_pieces, written
from robustparse.tasks.registry import other_task
from robustparse.tasks.task import Written
from robustparse.types import Example


def predict(
    victim: VictimOptions,
    reading: TextOptions,
    sharing: ShardOptions,
    data: Paths = STANDARD,
    out: str = STANDARD,
    format: str | None = None,
) -> None:
    """Write the answers of a checkpoint, or a --victim, on sentences.

    Args:
        victim: the model.
        reading: how the texts are read.
        sharing: how several runs or machines share the sentences.
        data: raw text with one sentence per line, words separated by blanks (for a classifier of
            pairs: premise, tab, hypothesis); or a file or dataset in a format of the model's task,
            whose gold answers are ignored and may be missing; several of one kind are read as one,
            also as quoted patterns, such as 'part-*.txt'; matches are sorted by name; ``-`` is
            standard input.
        out: the file to write, in the format of the data or, for raw text, in the format of the
            model's task; ``-`` is standard output.
        format: the format of the data as a file ending, such as ``conllu``; ``txt`` is raw text. By
            default the ending of the file's name, and ``txt`` for names without an ending and for
            standard input.
    """
    file = DataFile(data)
    name, shard = display_name(file.name), _shard(sharing, file.names[0], out)
    check_least("--", max_length=reading.max_length)
    source = victim.source()
    opened = source.open(victim.device)
    ending = (format or ending_of(file.names[0])).lstrip(".").lower() or RAW
    _check_formats(opened, file.names, ending, format, out)
    if out != STANDARD:
        inputs = [*file.names, *(source.names if isinstance(source, Checkpoints) else ())]
        check_no_input(Path(out), (each for each in inputs if each != STANDARD), key="--out")
    options = ReadOptions(
        reading.columns, reading.max_length, False, "--max_length", known_to(opened)
    )
    texts = TextPieces(file.names, ending, opened, options, shard)
    warned: set[str] = set()
    count = 0

    def answered(output: object) -> Iterator[Written]:
        nonlocal count
        for examples in texts.pieces():
            if isinstance(output, Stream):
                output.check()  # fails if nobody reads it any more
            warnings = opened.warnings(examples, FileUse(name, gold=False))
            for warning in chain(warnings, opened.task.files.not_written(examples, name)):
                if warning not in warned:
                    warned.add(warning)
                    say(warning)
            yield from _answered(opened, examples)
            count += len(examples)

    with standard_output() if out == STANDARD else written(Path(out)) as answers:
        if out != STANDARD:
            remove_record(Path(out))
        head = write_pieces(answers, opened.task.files.write_all(answered(answers)))
    if shard is not None:
        digests = {**source.digests(), "data": file.digest()}
        run = {"models": source.names, **source.settings, "data": file.recorded, "format": ending}
        run |= {"columns": reading.columns, "sha256": digests}
        write_shard(
            Path(out), "predict", str(shard), opened.task, run, {"texts": count}, {"": head}
        )
    if out != STANDARD:
        terminal().print(f"{count} texts with answers in {out}", soft_wrap=True)


def _shard(sharing: ShardOptions, data: str, out: str) -> Shard | None:
    """Return the shard of the options; None if all sentences are answered.

    Raises:
        InputError: there is no such shard, or its input or output is a standard stream.
    """
    parsed = sharing.parsed_shard()
    if parsed is None:
        return None
    for key, value, kind in (("--data", data, "input"), ("--out", out, "output")):
        if value == STANDARD:
            problem = f"cannot be standard {kind} with --shard"
            raise InputError(problem, key=key, remedy="name a file")
    return parsed


def _check_formats(
    victim: AnsweringVictim, names: Sequence[str], ending: str, format: str | None, out: str
) -> None:
    """Check ``--format``; warn if the name of the output belongs to another format.

    Raises:
        InputError: the model's task has no such format; or, without ``--format``, the data have
            different ones.
    """
    files, data = victim.task.files, names[0]
    if format is None:
        check_same_kind(names)
    if format is not None and ending != RAW and f".{ending}" not in files.endings:
        expected = f"{RAW} or one of {', '.join(each.lstrip('.') for each in files.endings)}"
        raise InputError(f"got {format!r}", key="--format", expected=expected)
    if out == STANDARD:
        return
    of_answers = files.ending(data if is_dataset(data) else f"data.{ending}")
    packed, named = plain_name(out) != Path(out).name, plain_ending(out)
    # Answers are never written as Parquet, but as JSON lines.
    misnamed = named in files.endings and (files.ending(out) != of_answers or named == ".parquet")
    if packed or misnamed or other_task(out, victim.task) is not None:
        say(
            f"the answers have the format {of_answers}, unpacked, but the name {out} says "
            f"otherwise: end it in {of_answers}"
        )


def _answered(victim: AnsweringVictim, examples: list[Example]) -> Iterator[Written]:
    """Yield examples with their answers, in their order."""
    answers = {each.id: each.answer for each in predictions(victim, examples, checked=False)}
    for example in examples:
        if example.block or example.row:
            yield example, None, answers[example.id]
        else:
            yield replace(example, gold=answers[example.id]), None, None
