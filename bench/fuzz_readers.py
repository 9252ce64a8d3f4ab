"""The readers that ``fuzz.py`` drives: a good file of each, and a second, plain reading of it."""

import csv
import gzip
import io
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
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
from robustparse.evaluation.attack_folder import collect_into
from robustparse.evaluation.lines import EXAMPLES, RUN, SUMMARY, pair_of, read_lines
from robustparse.evaluation.shards import Lines, Speed
from robustparse.models.checkpoint import read_checkpoint
from robustparse.recipes.recipe import Recipe
from robustparse.reports.folders import CURVES, read_folder
from robustparse.reports.training import read_metrics
from robustparse.tasks.dependency import DependencyTask
from robustparse.types import Example, Sentence
from robustparse.vectors import read_vectors

ROOT = Path(__file__).parent.parent
CONTRACT = ROOT / "tests" / "contract"

Value = Any


def same(value: Value, expected: Value) -> bool:
    """Tell whether two values are the same; NaN is the same as itself."""
    return repr(value) == repr(expected)


class Reader(NamedTuple):
    """A reader of one file.

    Args:
        content: of a good file.
        read: reads a file; what it returns is compared.
        plain: reads the same in a plain way from damaged bytes; None where files are checked, so
            that the value must be that of the good file.
        weight: the number of inputs, against the others'; less where reading takes long.
        name: of the file.
        beside: other files of its folder, by name.
        agree: compares what was read with what is expected.
    """

    content: bytes
    read: Callable[[Path], Value]
    plain: Callable[[bytes], Value] | None
    weight: int
    name: str
    beside: Mapping[str, bytes] = MappingProxyType({})
    agree: Callable[[Value, Value], bool] = same


def all_readers(folder: Path) -> dict[str, Reader]:
    """Return the readers by what they read; some good files are made in the folder first."""
    return {**_of_data(folder / "data"), **_of_settings(), **_of_results(folder / "results")}


def _of_data(folder: Path) -> dict[str, Reader]:
    """Return the readers of treebanks, texts, vectors and candidates."""
    conllu = (CONTRACT / "test.conllu").read_bytes() + RARE_LINES
    conllx = re.sub(rb"(?m)^(#.*|[0-9]+[-.][0-9]+\t.*)\n", b"", conllu)
    tsv = b"a fine film\tpos\na dull , long film\tneg\nnot bad\tpos\n"
    jsonl = re.sub(rb"(.*)\t(.*)", rb'{"text": "\1", "label": "\2"}', tsv)
    vectors = b"3 4\nthe 0.1 -2 3e-2 4\nof 1 2 3 4\n... 0.5 0.5 0.5 0.5\n"
    table = {"big/JJ": ["large", "great"], "run": ["walk", "go"], "n/a": ["none"]}
    senses = [{"en_word": "dog", "en_grammar": "noun", "Def": "{livestock|x:{big|y}}"}] * 2
    cache = folder / "a.sqlite"
    _cached(cache)
    return {
        "CoNLL-U": Reader(conllu, _trees, _plain_trees, 12, "a.conllu"),
        "CoNLL-X": Reader(conllx, _trees, _plain_trees, 6, "a.conllx"),
        "texts, TSV": Reader(tsv, _texts, _plain_tsv, 8, "a.tsv"),
        "texts, JSON lines": Reader(jsonl, _texts, _plain_json_lines, 8, "a.jsonl"),
        "word vectors": Reader(vectors, _vectors, _plain_vectors, 8, "a.txt"),
        "word vectors, gzip": Reader(gzip.compress(vectors, mtime=0), _vectors, None, 6, "a.gz"),
        "word list": Reader(b"one\ntwo\nthree\n", read_words, _plain_words, 4, "a.txt"),
        "table of candidates": Reader(_json(table), _lexicon, _plain_lexicon, 6, "a.json"),
        "sememes": Reader(_json(senses), _sememes, _plain_sememes, 5, "a.json"),
        "candidate cache": Reader(cache.read_bytes(), _cached, None, 6, cache.name),
    }


def _of_settings() -> dict[str, Reader]:
    """Return the readers of recipes, configurations and checkpoints."""
    recipe = (CONTRACT / "words.yaml").read_bytes()
    config = (ROOT / "configs" / "experiment" / "ewt_biaffine_word.yaml").read_bytes()
    checkpoint = (CONTRACT / "tiny.ckpt").read_bytes()
    return {
        "recipe": Reader(recipe, _recipe, _plain_yaml, 3, "a.yaml", agree=_holds),
        "configuration": Reader(config, _config, _plain_yaml, 1, "a.yaml", agree=_holds),
        "checkpoint": Reader(checkpoint, _checkpoint, None, 6, "a.ckpt"),
    }


def _of_results(folder: Path) -> dict[str, Reader]:
    """Return the readers of what attacks, training and annotators leave."""
    _attacked(folder / "run")
    run = {name: (folder / "run" / name).read_bytes() for name in (EXAMPLES, RUN, SUMMARY)}
    curves = {
        **{"title": "t", "x_label": "x", "y_label": "y"},
        "curves": [{"name": "a", "x": [0, 5.5], "y": [90, None]}],
    }
    metrics = b"step,name,value\n5,val/las,81.25\n5,robust/las@0.1,40.5\n9,val/las,82.0\n"
    key, pairs = _questionnaire(folder)
    return {
        "examples.jsonl, resumed": Reader(run[EXAMPLES], _resumed, None, 6, EXAMPLES, run),
        "run.json, resumed": Reader(run[RUN], _resumed, None, 3, RUN, run),
        "summary.json, resumed": Reader(run[SUMMARY], _resumed, None, 3, SUMMARY, run),
        "examples.jsonl": Reader(run[EXAMPLES], _lines, _plain_lines, 6, EXAMPLES),
        "summary.json, report": Reader(run[SUMMARY], _reported, _plain_summary, 4, SUMMARY, run),
        "curves.json, report": Reader(_json(curves), _plotted, _plain_curves, 4, CURVES, run),
        "metrics.csv": Reader(metrics, read_metrics, _plain_metrics, 5, "metrics.csv"),
        "annotation key": Reader(key, read_key, _plain_key, 5, "key.json"),
        "annotated pairs": Reader(
            pairs, _answers, _plain_answers, 4, "pairs.csv", {"key.json": key}
        ),
    }


def _json(value: Value) -> bytes:
    return json.dumps(value, indent=1).encode()


def _text(content: bytes) -> str:
    return content.decode("utf-8-sig")


# Treebanks

# A sentence with a range and an empty node, whose last word has no dependent.
RARE_LINES = b"""\
1-2 don't _ _ _ _ _ _ _ _
1 do _ AUX VB _ 0 root _ _
2 n't _ PART RB _ 1 advmod _ _
2.1 go _ _ _ _ _ _ _ _
3 # _ SYM # _ 1 punct _ _

""".replace(b" ", b"\t")


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


# Texts, vectors and candidates


def _texts(path: Path) -> Value:
    return [(one.sentence.words, one.gold) for one in read_texts(path)]


def _plain_tsv(content: bytes) -> Value:
    rows = [line.split("\t") for line in _text(content).rstrip("\r\n").split("\n")]
    return [(tuple(text.split()), label.strip()) for text, label in rows]


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


def _cached(path: Path) -> Value:
    return CachedCandidates(_Known(), str(path)).propose(_SLOTS, 0)


# Recipes, configurations and checkpoints


def _recipe(path: Path) -> Value:
    recipe = Recipe.read(path)
    recipe.attack()
    return recipe.settings["init_args"]


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


class ParsedError(Exception):
    """A configuration is whole; it holds its settings as JSON, and nothing is made of them."""


def _config(path: Path) -> Value:
    def stop(cli: Any) -> None:
        raise ParsedError(cli.parser.dump(cli.config, format="json"))

    with patch.object(lightning.Cli, "before_instantiate_classes", stop):
        try:
            lightning.run(["fit", "--config", str(path)])
        except ParsedError as parsed:
            return json.loads(str(parsed))["fit"]
    return None


def _plain_yaml(content: bytes) -> Value:
    return yaml.load(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _checkpoint(path: Path) -> Value:
    content = read_checkpoint(path)
    weights = {name: weight.tolist() for name, weight in content["state_dict"].items()}
    return content["robustparse"], content["global_step"], weights


# Results of attacks and training

TASK = DependencyTask()
ATTACK = Recipe.read(CONTRACT / "words.yaml").attack()
LINES = {line["id"]: line for line in read_lines(CONTRACT / "attacked" / EXAMPLES)}
SETTINGS = json.loads((CONTRACT / "attacked" / RUN).read_text("utf-8"))


def _attacked(folder: Path) -> Value:
    """Attack or resume in a folder, where the victim's answers are known; return the summary."""

    def source(pending: Sequence[Example]) -> Lines:
        for example in pending:
            yield LINES[example.id]
        return Speed()

    examples = read_treebank(CONTRACT / "test.conllu")
    return collect_into(folder, TASK, ATTACK, source, examples, SETTINGS)


def _resumed(path: Path) -> Value:
    summary = _attacked(path.parent)
    kept = ("n_words", "clean", "attacked", "success_rate", "queries_per_sentence", "by_tag")
    found = sorted(_lines(path.with_name(EXAMPLES)), key=itemgetter("id"))
    return found, {key: summary[key] for key in kept}


def _lines(path: Path) -> list[Value]:
    """Read what is known of each sentence; keys of another name are nobody's."""
    return [{key: line.get(key) for key in LINES[line["id"]]} for line in read_lines(path)]


def _plain_lines(content: bytes) -> Value:
    """Read the lines that have not lost their end, each of which must be one of the good file."""
    whole = [json.loads(line) for line in content.split(b"\n") if line.endswith(b"}")]
    return [LINES[line["id"]] for line in whole]


def _reported(path: Path) -> Value:
    return _scores(read_folder(path.parent, "a").summary)


def _plain_summary(content: bytes) -> Value:
    return _scores(json.loads(_text(content)))


def _scores(summary: Value) -> Value:
    scores = [summary[side][name] for side in ("clean", "attacked") for name in ("uas", "las")]
    numbers = [None if one is None else float(one) for one in (*scores, summary["success_rate"])]
    return numbers, summary["n_words"], summary["attack"]


def _plotted(path: Path) -> Value:
    return [
        (
            plot.title,
            plot.x_label,
            plot.y_label,
            [(c.name, *_points(c.x, c.y)) for c in plot.curves],
        )
        for plot in read_folder(path.parent, "a").plots
    ]


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

ASKED = ("item", *QUESTIONS)


def _questionnaire(folder: Path) -> tuple[bytes, bytes]:
    """Return a key, and an annotator's file with answers."""
    pairs = [pair for line in LINES.values() if (pair := pair_of(line, folder)).changed]
    (out,) = export(pairs, folder / "pairs.csv", folder / "key.json", 1, 0, 4)
    heading, *rows = out.read_text("utf-8").splitlines()
    answered = [heading, *(row.removesuffix(",,") + ",A,yes" for row in rows)]
    return (folder / "key.json").read_bytes(), "\n".join([*answered, ""]).encode()


def _plain_key(content: bytes) -> Value:
    items = json.loads(_text(content))["items"]
    return {name: Item(one["annotator"], one["id"], one["original"]) for name, one in items.items()}


def _answers(path: Path) -> Value:
    score(path.with_name("key.json"), [path])
    return [tuple(row[name].strip().lower() for name in ASKED) for _, row in read_rows(path)]


def _plain_answers(content: bytes) -> Value:
    text = _text(content)
    separator = max(",;\t", key=text.split("\n", 1)[0].count)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    named = [dict(zip(map(str.strip, rows[0]), row, strict=False)) for row in rows[1:] if any(row)]
    return [tuple(row[name].strip().lower() for name in ASKED) for row in named]
