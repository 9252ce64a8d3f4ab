"""Shards of files of every kind: together they are the whole file, and each keeps only its own."""

import json
import logging
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from robustparse.api.data_sources import DataFile
from robustparse.data.columns import tell
from robustparse.data.read_options import Known
from robustparse.data.shard import Shard
from robustparse.errors import InputError
from robustparse.files import reading
from robustparse.tasks.classification import CLASSIFICATION
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.tasks.semantic import semantic_task
from robustparse.tasks.tags import TAGS
from robustparse.types import Example

SEMANTIC = semantic_task()


def lines_of(*rows: str) -> str:
    return "".join(f"{row}\n" for row in rows)


def json_lines(names: str, *rows: Sequence[Any]) -> str:
    return lines_of(*(json.dumps(dict(zip(names.split(), row, strict=True))) for row in rows))


def treebank(*sentences: str) -> str:
    return "\n".join(
        lines_of(
            *(
                f"{at}\t{word}\t_\t{word.upper()}\t_\tCase={word}\t{at - 1}\tx\t_\t_"
                for at, word in enumerate(sentence.split(), start=1)
            )
        )
        for sentence in sentences
    )


def columns(*sentences: str) -> str:
    return "\n".join(
        lines_of(*(word.replace("/", "\t") for word in each.split())) for each in sentences
    )


TEXTS = ("a fine film\tpos", "so dull\tneg", "not bad\tpos", "b c d\t-", "e\tneg", "f g\tpos")
PAIRS = ("a b\tc\tyes", "d\te f\tno", "g h\ti\t-", "k\tl\tyes", "m\tn\tno", "o\tp\tyes")
FORMS = (
    "all jobs\tjob ( ANS )",
    "c0 jobs\tjob ( ANS ) , a ( c0 )",
    "x y\tb ( ANS )",
    "z\tb ( c0 )",
)
SPANS = ("a/O b/I-P c/I-P", "d/I-P e/B-P", "f/O", "g/I-Q h/O", "i/I-P", "k/O l/O")
RAW = (
    'Jobs in Rome\tjob in c0\tjob ( ANS ) , loc ( ANS , c0 )\t{"c0": "Rome"}',
    "Jobs\tjob\tjob ( ANS )\t{}",
    'In Rome\tin c0\tloc ( ANS , c0 )\t{"c0": "Rome"}',
    "Any jobs\tany job\tjob ( ANS )\t{}",
)

# The task, the ending, the contents of the files, and the columns that the user names.
FILES: dict[str, tuple[Any, str, Sequence[str], list[str] | None]] = {
    "texts": (CLASSIFICATION, "tsv", [lines_of(*TEXTS)], None),
    "a usual header": (CLASSIFICATION, "tsv", [lines_of("text\tlabel", *TEXTS)], None),
    "a guessed header": (CLASSIFICATION, "tsv", [lines_of("said\tas", *TEXTS)], None),
    "a named header": (CLASSIFICATION, "tsv", [lines_of("x\ty", *TEXTS)], ["x", "y"]),
    "other columns": (
        CLASSIFICATION,
        "tsv",
        [lines_of("id\ttext\tlabel", *(f"{at}\t{text}" for at, text in enumerate(TEXTS)))],
        None,
    ),
    "a text that begins with a quotation mark": (
        CLASSIFICATION,
        "tsv",
        [lines_of('"a', *TEXTS).replace('"a\n', '"a b\tneg\n')],
        None,
    ),
    "quoted": (
        CLASSIFICATION,
        "tsv",
        [lines_of(*(f'"{text}"'.replace("\t", '"\t"') for text in TEXTS))],
        None,
    ),
    "carriage returns": (CLASSIFICATION, "tsv", ["\r".join(TEXTS)], None),
    "blank lines at the end": (CLASSIFICATION, "tsv", [lines_of(*TEXTS, "", "")], None),
    "CSV": (CLASSIFICATION, "csv", [lines_of(*TEXTS).replace("\t", ",")], None),
    "pairs": (CLASSIFICATION, "tsv", [lines_of(*PAIRS)], None),
    "pairs with a header": (
        CLASSIFICATION,
        "tsv",
        [lines_of("premise\thypothesis\tgold_label", *PAIRS)],
        None,
    ),
    "several files": (
        CLASSIFICATION,
        "tsv",
        [lines_of("said\tas", *texts) for texts in (TEXTS, TEXTS[:2], ["h\tneg"])],
        None,
    ),
    "JSON lines": (
        CLASSIFICATION,
        "jsonl",
        [json_lines("text label", *(text.split("\t") for text in TEXTS))],
        None,
    ),
    "JSON lines, numbers and gaps": (
        CLASSIFICATION,
        "json",
        [json_lines("review stars", ("a", 1), ("b", None), ("c d", 2), ("e", 1), ("f", 2))],
        ["review", "stars"],
    ),
    "a JSON list": (
        CLASSIFICATION,
        "json",
        [json.dumps([{"text": "a b", "label": "x"}, {"text": "c", "label": "y"}] * 2, indent=1)],
        None,
    ),
    "forms": (SEMANTIC, "tsv", [lines_of(*FORMS), lines_of(*FORMS[:1])], None),
    "forms with a header": (SEMANTIC, "tsv", [lines_of("say\tmeans", *FORMS)], None),
    "forms in JSON lines": (
        SEMANTIC,
        "jsonl",
        [json_lines("utterance form", *(form.split("\t") for form in FORMS))],
        None,
    ),
    "raw utterances": (SEMANTIC, "tsv", [lines_of(*RAW)], None),
    "spans": (TAGS, "conll", [columns(*SPANS), columns("m/I-P n/O")], None),
    "labelled spans": (TAGS, "conll", [columns(*SPANS).replace("f\t", "# label = L\nf\t")], None),
    "spans in JSON lines": (
        TAGS,
        "jsonl",
        [json_lines("words slots intent", (["a", "b"], ["O", "B-P"], "L"), (["c"], ["O"], "M"))
         + json_lines("words slots intent", (["d"], ["B-P"], "L"), (["e"], ["O"], "M"))],
        None,
    ),
    "tags of a treebank": (TAGS, "conllu", [treebank("a b", "c", "d e f"), treebank("g")], None),
    "features": (TAGS, "conllu", [treebank("a b", "c", "d e f", "g")], ["feats:Case"]),
    "parses": (DEPENDENCY, "conllu", [treebank("a b", "c", "d e f"), treebank("g", "h i")], None),
    "words that are underscores": (DEPENDENCY, "conllu", [treebank("a", "_", "b", "_")], None),
}  # fmt: skip
CHOICES: list[dict[str, Any]] = [
    {},
    {"limit": 4},
    {"fraction": 0.8, "seed": 3},
    {"fraction": 0.8, "unit": "tokens", "seed": 1},
]


def written(folder: Path, ending: str, contents: Sequence[str]) -> list[str]:
    """Write the files, and return their names."""
    paths = [folder / f"{number}.{ending}" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_text(content, encoding="utf-8", newline="")
    return [*map(str, paths)]


def described(examples: Sequence[Example]) -> list[tuple[str, str]]:
    """Return all fields of examples; the path is not compared otherwise."""
    return [(repr(each), each.path) for each in examples]


@pytest.mark.parametrize("name", FILES)
def test_shards_are_the_whole_file(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    task, ending, contents, named = FILES[name]
    names = written(tmp_path, ending, contents)

    def read(**more: Any) -> tuple[list[Example], list[str]]:
        tell.cache_clear()  # which logs each message once
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            examples = DataFile(names, columns=named, **more).read(task)
        return examples, caplog.messages

    for choice in CHOICES:
        whole, messages = read(**choice)
        for count in range(1, min(4, len(whole)) + 1):
            joined = []
            for number in range(1, count + 1):
                part, same = read(shard=Shard(number, count), **choice)
                assert same == messages
                joined += part
            assert described(joined) == described(whole)
            assert len(part) in (len(whole) // count, -(-len(whole) // count))


MISTAKES: dict[str, tuple[Any, str, str]] = {
    "no JSON, after a row without a label": (
        CLASSIFICATION,
        "jsonl",
        '{"text": "a"}\n{"text": "b", "label": "x"}\n{"text": "c", \n',
    ),
    "a row without a column": (
        CLASSIFICATION,
        "jsonl",
        json_lines("text label", ("a", "x"), ("b", "y")) + '{"text": "c"}\n',
    ),
    "the header again": (CLASSIFICATION, "tsv", lines_of("text\tlabel", *TEXTS, "text\tlabel")),
    "another width": (CLASSIFICATION, "tsv", lines_of(*TEXTS, "a\tb\tc")),
    "a header only": (CLASSIFICATION, "tsv", "text\tlabel\n"),
    "no label": (CLASSIFICATION, "tsv", lines_of("a\t-", "b\t-", "c\t-")),
    "numbers": (CLASSIFICATION, "tsv", lines_of("1\tneg", "2\tpos", "3\tneg")),
    "a label in quotation marks": (CLASSIFICATION, "tsv", lines_of(*TEXTS, "a b\t'pos'")),
    "an empty text": (CLASSIFICATION, "tsv", lines_of(*TEXTS, "\tpos")),
    "a form that does not end": (SEMANTIC, "tsv", lines_of(*FORMS, "a b\tjob ( ANS")),
    "a name twice": (CLASSIFICATION, "tsv", lines_of("text\ttext\tlabel", "a\tb\tpos")),
    "words without tags": (TAGS, "conll", columns("a/O b/O", "c/O", "d e/O")),
    "numbers as words": (TAGS, "conll", columns("1/a 2/b", "1/c", "1/d 2/e")),
    "fewer tags than words": (
        TAGS,
        "jsonl",
        json_lines("tokens tags", (["a"], ["O"]), (["b"], ["O"]), (["c", "d"], ["O"])),
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_every_shard_names_the_mistakes_of_the_whole_file(name: str, tmp_path: Path):
    task, ending, content = MISTAKES[name]
    names = written(tmp_path, ending, [content])
    with pytest.raises(InputError) as whole:
        DataFile(names).read(task)
    for number in (1, 2):
        with pytest.raises(InputError) as error:
            DataFile(names, shard=Shard(number, 2)).read(task)
        assert str(error.value) == str(whole.value)


LONG = [f"{at} " + "abcdefgh " * 120 for at in range(150)]
SHORT = [text[:200].rpartition(" ")[0] for text in LONG]
WORDS = [text.split() for text in SHORT]
LARGE: dict[str, tuple[Any, str, str]] = {
    "TSV": (CLASSIFICATION, "tsv", lines_of(*(f"{text}\tpos" for text in LONG))),
    "TSV with a header": (
        CLASSIFICATION,
        "tsv",
        lines_of("text\tlabel", *(f"{text}\tpos" for text in LONG)),
    ),
    "JSON lines": (CLASSIFICATION, "jsonl", json_lines("text label", *([t, "pos"] for t in LONG))),
    "forms": (SEMANTIC, "tsv", lines_of(*(f"{text}\tjob ( ANS )" for text in LONG))),
    "columns": (TAGS, "conll", columns(*(each.replace(" ", "/O ") + "/O" for each in SHORT))),
    "tags in JSON lines": (
        TAGS,
        "jsonl",
        json_lines("tokens tags", *([words, ["O"] * len(words)] for words in WORDS)),
    ),
    "tags of a treebank": (TAGS, "conllu", treebank(*SHORT)),
    "parses": (DEPENDENCY, "conllu", treebank(*SHORT)),
}


@pytest.mark.parametrize("name", LARGE)
def test_memory_of_a_shard_does_not_grow_with_the_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reading, "_PIECE", 4096)
    task, ending, content = LARGE[name]
    names = written(tmp_path, ending, [content])

    def peak(count: int, **more: Any) -> int:
        tracemalloc.start()
        try:
            assert len(DataFile(names, **more).read(task, Known(labels=["pos"]))) == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(2, shard=Shard(1, 75))  # imports and caches
    assert peak(2, shard=Shard(60, 75)) < peak(150) / 5
