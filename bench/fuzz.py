"""Damaged inputs for every reader: none ends in a traceback, hangs or changes a result in silence.

    python bench/fuzz.py --inputs 10000 --seed 0

Good files are changed in one to three places, at random from (seed, number): bits, bytes, lines,
cuts, and texts that readers are known to stumble over. An input is *refused* by an `InputError`, or
*accepted*. What is accepted is compared: a reader whose files hold checksums, or are checked
against others, must give the value of the good file; one of plain text must give what a second,
plain reading of the damaged bytes gives, so that nothing in it was dropped or taken for something
else. Anything else is a *silent change*. Exits with 1 if there is a fault. The first few of a
reader are shown with their numbers; ``--only READER --first NUMBER --inputs 1`` repeats one.
"""

import argparse
import csv
import gzip
import io
import json
import math
import random
import re
import shutil
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import yaml

from robustparse.annotation.questionnaire import QUESTIONS, Item, export, read_key, read_rows
from robustparse.annotation.score import score
from robustparse.attacks.candidates.cache import CachedCandidates
from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.candidates.sememes import _SEMEME, _read_senses
from robustparse.attacks.candidates.vocabulary import read_words
from robustparse.cli import lightning
from robustparse.data.conllu import read_treebank
from robustparse.data.text_files import read_texts
from robustparse.errors import InputError
from robustparse.evaluation.attack_folder import collect_into
from robustparse.evaluation.lines import pair_of, read_lines
from robustparse.evaluation.shards import Lines, Speed
from robustparse.models.checkpoint import read_checkpoint
from robustparse.recipes.recipe import Recipe
from robustparse.reports.folders import read_folder
from robustparse.reports.training import read_metrics
from robustparse.tasks.dependency import DependencyTask
from robustparse.types import Example, Sentence
from robustparse.vectors import read_vectors

CONTRACT = Path(__file__).parent.parent / "tests" / "contract"
CONFIGS = Path(__file__).parent.parent / "configs"
SECONDS = 20.0  # for one input
SHOWN = 5  # faults of a reader

# Texts that readers of any format may stumble over.
NASTY = [
    *(
        b"\0",
        b"\\ud800",
        b"\\u0000",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
        b"\xe2\x80\xa8",
    ),
    *(
        b"9" * 5000,
        b"[" * 100_000,
        b'{"a":' * 2000,
        b"1e999",
        b"NaN",
        b"-1",
        b"0",
        b"null",
        b"true",
    ),
    *(
        b"\t",
        b"\n",
        b"\r",
        b"\n\n",
        b" ",
        b"#",
        b'"',
        b"'",
        b",",
        b":",
        b"{}",
        b"[]",
        b"3-4",
        b"3.1",
    ),
    *(b"&a *a", b"!!python/object:os.system", b"os.system", b"[bold]", b"[/b]", b"../..", b"%s"),
]

Value = Any


class Reader(NamedTuple):
    """A reader of one file.

    Args:
        content: of a good file.
        read: reads a file; what it returns is compared.
        plain: reads the same in a plain way from damaged bytes; None where files are checked, so
            that the value must be that of the good file.
        weight: the number of inputs, against the others'; less where reading takes long.
        name: of the file.
    """

    content: bytes
    read: Callable[[Path], Value]
    plain: Callable[[bytes], Value] | None
    weight: int
    name: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--only", help="one reader")
    options = parser.parse_args()
    began = time.process_time()
    with TemporaryDirectory() as folder:
        readers = all_readers(Path(folder))
        if options.only is not None:
            readers = {options.only: readers[options.only]}
        faults = fuzz(readers, options.inputs, options.seed, Path(folder), options.first)
    print(f"{time.process_time() - began:.0f} s of processor time")
    sys.exit(1 if faults else 0)


def fuzz(
    readers: dict[str, Reader], inputs: int, seed: int, folder: Path, first: int = 0
) -> list[str]:
    """Damage files and read them; print a table and return the faults."""
    columns = ("inputs", "refused", "accepted", "traceback", "hang", "silent change")
    print(f"{'reader':<24}" + "".join(f"{column:>15}" for column in columns))
    total: Counter[str] = Counter()
    faults: list[str] = []
    whole = sum(reader.weight for reader in readers.values())
    for name, reader in readers.items():
        count = -(-inputs * reader.weight // whole)
        good = reader.read(_write(folder / "good", reader, reader.content))
        counts: Counter[str] = Counter(inputs=count)
        for number in range(first, first + count):
            outcome, said = _outcome(reader, good, random.Random(f"{seed} {name} {number}"), folder)
            counts[outcome] += 1
            if outcome in columns[3:]:
                faults.append(f"{name} {number}: {outcome}: {said}")
        print(f"{name:<24}" + "".join(f"{counts[column]:>15}" for column in columns), flush=True)
        for fault in [fault for fault in faults if fault.startswith(f"{name} ")][:SHOWN]:
            print(f"  {fault}", flush=True)
        total += counts
    print(f"{'all':<24}" + "".join(f"{total[column]:>15}" for column in columns))
    return faults


def _outcome(reader: Reader, good: Value, rng: random.Random, folder: Path) -> tuple[str, str]:
    """Damage a good file, read it, and return what became of it."""
    content = damaged(reader.content, rng)
    path = _write(folder / "damaged", reader, content)
    try:
        with _limited(SECONDS):
            value = reader.read(path)
    except InputError:
        return "refused", ""
    except Hang:
        return "hang", ""
    except Exception as error:
        return "traceback", f"{type(error).__name__}: {error!s:.200}"
    try:
        expected = good if reader.plain is None else reader.plain(content)
    except Exception as error:
        return "silent change", f"accepted, and the plain reading says {error!r:.200}"
    if isinstance(value, _Given):
        same = _holds(value.settings, expected)
    else:
        same = repr(value) == repr(expected)  # of NaN too
    return ("accepted", "") if same else ("silent change", f"{value!r:.200} for {expected!r:.200}")


def _write(folder: Path, reader: Reader, content: bytes) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path = folder / reader.name
    path.write_bytes(content)
    return path


class Hang(BaseException):
    """An input took too long."""


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def end(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Change one to three places of a file."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        content = rng.choice((_bits, _bytes, _alike, _alike, _cut, _inserted, _inserted, _lines))(
            content, rng
        )
    return content


def _bits(content: bytes, rng: random.Random) -> bytes:
    """Flip a bit."""
    at = rng.randrange(len(content) or 1)
    return (
        content[:at]
        + bytes(b ^ (1 << rng.randrange(8)) for b in content[at : at + 1])
        + content[at + 1 :]
    )


def _bytes(content: bytes, rng: random.Random) -> bytes:
    """Put a printable character in place of another."""
    at = rng.randrange(len(content) or 1)
    return content[:at] + bytes([rng.randrange(32, 127)]) + content[at + 1 :]


def _alike(content: bytes, rng: random.Random) -> bytes:
    """Put a letter in place of a letter, or a digit in place of a digit."""
    found = re.search(rb"[0-9a-z]", content[rng.randrange(len(content) or 1) :])
    if found is None:
        return content
    at = len(content) - len(found.string) + found.start()
    alphabet = b"0123456789" if found[0].isdigit() else b"abcdefghijklmnopqrstuvwxyz"
    return content[:at] + bytes([rng.choice(alphabet)]) + content[at + 1 :]


def _cut(content: bytes, rng: random.Random) -> bytes:
    """Leave a piece out, or write it twice; or end there."""
    begin = rng.randrange(len(content) + 1)
    end = min(len(content), begin + rng.choice((1, 3, 30, 300, len(content))))
    return content[:begin] + content[begin:end] * rng.choice((0, 0, 2)) + content[end:]


def _inserted(content: bytes, rng: random.Random) -> bytes:
    """Insert a nasty text, or put it in place of a word."""
    begin, text = rng.randrange(len(content) + 1), rng.choice(NASTY)
    if rng.random() < 0.5:
        return content[:begin] + text + content[begin:]
    words = list(re.finditer(rb"[\w.]+", content))
    if not words:
        return text
    word = rng.choice(words)
    return content[: word.start()] + text + content[word.end() :]


def _lines(content: bytes, rng: random.Random) -> bytes:
    """Drop a line, repeat it, or exchange two."""
    lines = content.splitlines(keepends=True) or [b""]
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(3)
    if kind == 0:
        lines[one] = b""
    elif kind == 1:
        lines[one] *= 2
    else:
        lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def all_readers(folder: Path) -> dict[str, Reader]:
    """Return the readers by what they read, each with a good file; some files are made first."""
    vectors = b"3 4\nthe 0.1 -2 3e-2 4\nof 1 2 3 4\n... 0.5 0.5 0.5 0.5\n"
    texts = b"a fine film\tpos\na dull , long film\tneg\nnot bad\tpos\n"
    rows = [
        dict(zip(("text", "label"), line.split("\t"), strict=True))
        for line in texts.decode().splitlines()
    ]
    table = {"big/JJ": ["large", "great"], "run": ["walk", "go"], "n/a": ["none"]}
    senses = [{"en_word": "dog", "en_grammar": "noun", "Def": "{livestock|x:{big|y}}"}] * 2
    metrics = "step,name,value\n5,val/las,81.25\n5,robust/las@0.1,40.5\n9,val/las,82.0\n"
    curves = {
        "title": "t",
        "x_label": "x",
        "y_label": "y",
        "curves": [{"name": "a", "x": [0, 5.5], "y": [90, None]}],
    }
    conllu = (CONTRACT / "test.conllu").read_bytes() + _EXTRA
    conllx = re.sub(rb"(?m)^(#.*|[0-9]+[-.][0-9]+\t.*)\n", b"", conllu)
    config = (CONFIGS / "experiment" / "ewt_biaffine_word.yaml").read_bytes()
    recipe, run = (CONTRACT / "words.yaml").read_bytes(), _run(folder / "run")
    key, answered = _questionnaire(folder / "pairs")
    return {
        "CoNLL-U": Reader(conllu, _trees, _plain_trees, 12, "a.conllu"),
        "CoNLL-X": Reader(conllx, _trees, _plain_trees, 6, "a.conllx"),
        "texts, TSV": Reader(texts, _texts, _plain_tsv, 8, "a.tsv"),
        "texts, JSON lines": Reader(_json_lines(rows), _texts, _plain_json_lines, 8, "a.jsonl"),
        "word vectors": Reader(vectors, _vectors, _plain_vectors, 8, "a.txt"),
        "word vectors, gzip": Reader(gzip.compress(vectors, mtime=0), _vectors, None, 6, "a.gz"),
        "word list": Reader(b"one\ntwo\nthree\n", read_words, _plain_words, 4, "a.txt"),
        "table of candidates": Reader(_json(table), _lexicon, _plain_lexicon, 6, "a.json"),
        "sememes": Reader(_json(senses), _sememes, _plain_sememes, 5, "a.json"),
        "candidate cache": Reader(_cache(folder / "cache"), _cached, None, 6, "a.sqlite"),
        "recipe": Reader(recipe, _recipe, _plain_yaml, 3, "a.yaml"),
        "configuration": Reader(config, _config, _plain_yaml, 1, "a.yaml"),
        "checkpoint": Reader((CONTRACT / "tiny.ckpt").read_bytes(), _checkpoint, None, 6, "a.ckpt"),
        **{
            f"{name}, resumed": Reader(run[name], _resumed(run), None, weight, name)
            for name, weight in (("examples.jsonl", 6), ("run.json", 3), ("summary.json", 3))
        },
        "examples.jsonl": Reader(
            run["examples.jsonl"], _lines_of, _plain_lines, 6, "examples.jsonl"
        ),
        "summary.json, report": Reader(
            run["summary.json"], _reported(run), _plain_summary, 4, "summary.json"
        ),
        "curves.json, report": Reader(
            _json(curves), _plotted(run), _plain_curves, 4, "curves.json"
        ),
        "metrics.csv": Reader(metrics.encode(), read_metrics, _plain_metrics, 5, "metrics.csv"),
        "annotation key": Reader(key, read_key, _plain_key, 5, "key.json"),
        "annotated pairs": Reader(answered, _answers(key), _plain_answers, 4, "pairs.csv"),
    }


# A sentence with a range and an empty node, whose last word has no dependent.
_EXTRA = (
    "".join(
        "\t".join([*columns, "_", "_"]) + "\n"
        for columns in (
            ("1-2", "don't", *"______"),
            ("1", "do", "_", "AUX", "VB", "_", "0", "root"),
            ("2", "n't", "_", "PART", "RB", "_", "1", "advmod"),
            ("2.1", "go", *"______"),
            ("3", "#", "_", "SYM", "#", "_", "1", "punct"),
        )
    ).encode()
    + b"\n"
)


def _json(value: Value) -> bytes:
    return json.dumps(value, indent=1).encode()


def _text(content: bytes) -> str:
    return content.decode("utf-8-sig")


# CoNLL-U and CoNLL-X


def _trees(path: Path) -> Value:
    return [
        (*zip(one.sentence.words, one.gold.heads, one.gold.labels, strict=True),)
        for one in read_treebank(path)
    ]


def _plain_trees(content: bytes) -> Value:
    """Take every line that is no comment before its sentence as a word, if it has a head."""
    sentences: list[list[tuple[str, int, str]]] = []
    words: list[tuple[str, int, str]] = []
    for line in [*_text(content).split("\n"), ""]:
        columns = line.rstrip("\r").split("\t")
        if not line.strip():
            sentences += [words] if words else []
            words = []
        elif len(columns) > 7 and columns[6] != "_":
            words.append((columns[1], int(columns[6]), columns[7]))
    return [tuple(words) for words in sentences]


# Texts, tables and vectors


def _texts(path: Path) -> Value:
    return [(one.sentence.words, one.gold) for one in read_texts(path)]


def _plain_tsv(content: bytes) -> Value:
    rows = [line.split("\t") for line in _text(content).rstrip("\r\n").split("\n")]
    return [(tuple(text.split()), label.strip()) for text, label in rows]


def _json_lines(rows: Sequence[Value]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _plain_json_lines(content: bytes) -> Value:
    rows = map(json.loads, _text(content).rstrip("\r\n").split("\n"))
    return [(tuple(row["text"].split()), str(row["label"]).strip()) for row in rows]


def _vectors(path: Path) -> Value:
    words, values = read_vectors(path)
    return [(word, row.tolist()) for word, row in zip(words, values, strict=True)]


def _plain_vectors(content: bytes) -> Value:
    lines = [line for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    lines = lines[1:] if len(lines[0].split()) == 2 else lines
    return [_plain_vector(line) for line in lines]


def _plain_vector(line: bytes) -> Value:
    """Take as the word what comes before the first blank, or else before its values."""
    count = len(line.split()) - (not line[:1].isspace())
    count = min(count, 4)
    word = b"" if line[:1].isspace() else line.rsplit(None, count)[0]
    values = [float(np.float32(token.decode())) for token in line.split()[-count:]]
    return word.decode(), values


def _plain_words(content: bytes) -> Value:
    return list(dict.fromkeys(_text(content).split()))


def _lexicon(path: Path) -> Value:
    return Lexicon(str(path))._table


def _plain_lexicon(content: bytes) -> Value:
    table = {}
    for key, words in json.loads(_text(content)).items():
        name, slash, tag = key.rpartition("/")
        table[f"{name.lower()}/{tag}" if slash and name else key.lower()] = tuple(words)
    return table


def _sememes(path: Path) -> Value:
    return [(word, part, sorted(found)) for word, part, found in _read_senses(path)]


def _plain_sememes(content: bytes) -> Value:
    senses = json.loads(_text(content))
    parts = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
    rows = senses.values() if isinstance(senses, dict) else senses
    found = [
        (
            row["en_word"].strip().lower(),
            parts.get(row["en_grammar"].strip().lower()),
            sorted(set(_SEMEME.findall(row["Def"].partition("RMK=")[0]))),
        )
        for row in rows
    ]
    return [one for one in found if all(one) and len(one[0].split()) == 1]


class _Known(CandidateGenerator):
    """Proposes three words for each."""

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        return [[f"{slot.word}{number}" for number in range(3)] for slot in slots]

    def fingerprint(self) -> str:
        return "known"


_SLOTS = [Slot(0, Sentence(("one", "two", "three")), position) for position in range(3)]


def _cache(folder: Path) -> bytes:
    path = folder / "a.sqlite"
    _cached(path)
    return path.read_bytes()


def _cached(path: Path) -> Value:
    return CachedCandidates(_Known(), str(path)).propose(_SLOTS, 0)


# Recipes, configurations and checkpoints


def _recipe(path: Path) -> Value:
    recipe = Recipe.read(path)
    recipe.attack()
    return _Given(recipe.settings["init_args"])


class _Given(NamedTuple):
    """Settings, of which a file gives some."""

    settings: Value


def _holds(settings: Value, given: Value) -> bool:
    """Tell whether settings hold all that a file gives, however it writes a number or a class."""
    if isinstance(given, dict) and isinstance(settings, dict):
        if "class_path" in settings and "class_path" not in given:  # of the only class there can be
            settings = settings["init_args"]
        return all(
            name in settings and _holds(settings[name], value)
            for name, value in given.items()
            if value is not None
        )
    if isinstance(given, list) and isinstance(settings, list):
        return len(given) == len(settings) and all(map(_holds, settings, given))
    if isinstance(given, bool | int | float) and isinstance(settings, int | float):
        return float(given) == float(settings)
    return str(settings).rpartition(".")[2] == str(given).rpartition(".")[2]


def _config(path: Path) -> Value:
    found: list[Value] = []

    class ParsedError(Exception):
        """The configuration is whole; nothing is made of it."""

    def stop(cli: Any) -> None:
        found.append(json.loads(cli.parser.dump(cli.config, format="json")))
        raise ParsedError

    with patch.object(lightning.Cli, "before_instantiate_classes", stop):
        try:
            lightning.run(["fit", "--config", str(path)])
        except ParsedError:
            return _Given(found[0]["fit"])
    return None


def _plain_yaml(content: bytes) -> Value:
    return yaml.load(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _checkpoint(path: Path) -> Value:
    content = read_checkpoint(path)
    weights = {name: weight.tolist() for name, weight in content["state_dict"].items()}
    return content["robustparse"], content["global_step"], weights


# The folder of an attack

_TASK = DependencyTask()
_ATTACK = Recipe.read(CONTRACT / "words.yaml").attack()


def _attacked(folder: Path, lines: Sequence[Value], run: Value) -> Value:
    """Resume an attack, whose victim knows the lines; return its lines and scores."""
    examples = read_treebank(CONTRACT / "test.conllu")

    def source(pending: Sequence[Example]) -> Lines:
        for example in pending:
            yield lines[example.id]
        return Speed()

    summary = collect_into(folder, _TASK, _ATTACK, source, examples, run)
    kept = ("n_words", "clean", "attacked", "success_rate", "queries_per_sentence", "by_tag")
    found = sorted(_lines_of(folder / "examples.jsonl"), key=itemgetter("id"))
    return found, {key: summary[key] for key in kept}


def _run(folder: Path) -> dict[str, bytes]:
    """Return the files of an attack's folder."""
    lines = read_lines(CONTRACT / "attacked" / "examples.jsonl")
    run = json.loads((CONTRACT / "attacked" / "run.json").read_text("utf-8"))
    _attacked(folder, lines, run)
    return {name: (folder / name).read_bytes() for name in _FILES}


_FILES = ("examples.jsonl", "run.json", "summary.json")


def _complete(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        if not (folder / name).exists():
            (folder / name).write_bytes(content)


def _resumed(files: dict[str, bytes]) -> Callable[[Path], Value]:
    lines = read_lines(CONTRACT / "attacked" / "examples.jsonl")
    run = json.loads(files["run.json"])

    def read(path: Path) -> Value:
        _complete(path.parent, files)
        return _attacked(path.parent, lines, run)

    return read


def _lines_of(path: Path) -> list[Value]:
    """Read what is known of each sentence; keys of another name are nobody's."""
    return [{key: line.get(key) for key in _GOOD[line["id"]]} for line in read_lines(path)]


def _plain_lines(content: bytes) -> Value:
    """Read the lines that have not lost their end, each of which must be one of the good file."""
    whole = [json.loads(line) for line in content.split(b"\n") if line.endswith(b"}")]
    return [_GOOD[line["id"]] for line in whole]


_GOOD = {line["id"]: line for line in read_lines(CONTRACT / "attacked" / "examples.jsonl")}


def _reported(files: dict[str, bytes]) -> Callable[[Path], Value]:
    def read(path: Path) -> Value:
        _complete(path.parent, files)
        return _scores(read_folder(path.parent, "a").summary)

    return read


def _plain_summary(content: bytes) -> Value:
    return _scores(json.loads(_text(content)))


def _scores(summary: Value) -> Value:
    sides = [
        [_float(summary[side][name]) for name in ("uas", "las")] for side in ("clean", "attacked")
    ]
    return sides, summary["n_words"], _float(summary["success_rate"]), summary["attack"]


def _float(value: Value) -> float | None:
    return None if value is None else float(value)


def _plotted(files: dict[str, bytes]) -> Callable[[Path], Value]:
    def read(path: Path) -> Value:
        _complete(path.parent, files)
        return [
            (
                plot.title,
                plot.x_label,
                plot.y_label,
                [(c.name, *_points(c.x, c.y)) for c in plot.curves],
            )
            for plot in read_folder(path.parent, "a").plots
        ]

    return read


def _plain_curves(content: bytes) -> Value:
    plot = json.loads(_text(content))
    curves = [(curve["name"], *_points(curve["x"], curve["y"])) for curve in plot["curves"]]
    return [(plot["title"], plot["x_label"], plot["y_label"], curves)]


def _points(xs: Sequence[Value], ys: Sequence[Value]) -> list[tuple[float, float]]:
    both = zip(xs, ys, strict=True)
    return [(float(x), float(y)) for x, y in both if x is not None and y is not None]


def _plain_metrics(content: bytes) -> Value:
    metrics: dict[str, dict[int, float]] = {}
    for step, name, value in csv.reader(_text(content).split("\n")[1:-1]):
        if math.isfinite(float(value)):
            metrics.setdefault(name, {})[int(step)] = float(value)
    return metrics


# Human judgement


def _questionnaire(folder: Path) -> tuple[bytes, bytes]:
    """Return a key, and an annotator's file with answers."""
    lines = read_lines(CONTRACT / "attacked" / "examples.jsonl")
    pairs = [pair for line in lines if (pair := pair_of(line, folder)).changed]
    folder.mkdir()
    (out,) = export(pairs, folder / "pairs.csv", folder / "key.json", 1, 0, 4)
    heading, *rows = out.read_text("utf-8").splitlines()
    answered = [heading, *(row.removesuffix(",,") + ",A,yes" for row in rows)]
    return (folder / "key.json").read_bytes(), "\n".join([*answered, ""]).encode()


def _plain_key(content: bytes) -> Value:
    items = json.loads(_text(content))["items"]
    return {name: Item(one["annotator"], one["id"], one["original"]) for name, one in items.items()}


def _answers(key: bytes) -> Callable[[Path], Value]:
    def read(path: Path) -> Value:
        path.with_name("key.json").write_bytes(key)
        score(path.with_name("key.json"), [path])
        return [tuple(row[name].strip().lower() for name in _ASKED) for _, row in read_rows(path)]

    return read


_ASKED = ("item", *QUESTIONS)


def _plain_answers(content: bytes) -> Value:
    text = _text(content)
    separator = max(",;\t", key=text.split("\n", 1)[0].count)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    named = [dict(zip(map(str.strip, rows[0]), row, strict=False)) for row in rows[1:] if any(row)]
    return [tuple(row[name].strip().lower() for name in _ASKED) for row in named]


if __name__ == "__main__":
    main()
