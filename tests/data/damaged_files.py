"""Readers of files that users give, such as treebanks, texts, vectors and recipes.

Each has a good file and, unless its files are checked, a second, plain reading.
"""

import csv
import gzip
import io
import json
import re
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import yaml

from damage import CONTRACT, Reader, Value, as_json, same, text_of
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.candidates.sememes import _SEMEME, _read_senses
from robustparse.attacks.candidates.vocabulary import read_words
from robustparse.cli import fit
from robustparse.cli.main import MAPPINGS
from robustparse.cli.text_pieces import raw_texts
from robustparse.data.conllu import read_treebank
from robustparse.data.read_options import ReadOptions
from robustparse.data.text_files import read_texts
from robustparse.models.encoders.bilm import read_options, sizes_of
from robustparse.options.arguments import checked
from robustparse.options.recipe import Recipe
from robustparse.vectors import read_vectors

ROOT = Path(__file__).parents[2]


def given_readers() -> dict[str, Reader]:
    """Return the readers of data, candidates, recipes and configurations, by what they read."""
    conllu = (CONTRACT / "test.conllu").read_bytes() + RARE_LINES
    conllx = re.sub(rb"(?m)^(#.*|[0-9]+[-.][0-9]+\t.*)\n", b"", conllu)
    tsv = b"a fine film\tpos\na dull , long film\tneg\nnot bad\tpos\n"
    jsonl = re.sub(rb"(.*)\t(.*)", rb'{"text": "\1", "label": "\2"}', tsv)
    texts_csv = b'text,label\na fine film,pos\n"a ""dull"" , long\nfilm",neg\nnot bad,pos\n'
    listed = b"[" + jsonl.strip().replace(b"\n", b",\n") + b"]\n"
    pairs = b"a man sleeps\tnobody is up\tyes\ntwo dogs run\ttwo cats\tno\n"
    line = rb'{"premise": "\1", "hypothesis": "\2", "label": "\3"}'
    json_pairs = re.sub(rb"(.*)\t(.*)\t(.*)", line, pairs)
    vectors = b"3 4\nthe 0.1 -2 3e-2 4\nof 1 2 3 4\n... 0.5 0.5 0.5 0.5\n"
    table = {"big/JJ": ["large", "great"], "run": ["walk", "go"], "n/a": ["none"]}
    senses = [{"en_word": "dog", "en_grammar": "noun", "Def": "{livestock|x:{big|y}}"}] * 2
    raw = b"A fine film .\n\nNot  bad , is it ?\nNo\n"
    recipe = (CONTRACT / "words.yaml").read_bytes()
    config = (ROOT / "configs" / "model" / "biaffine_word.yaml").read_bytes()
    return {
        "CoNLL-U": Reader(conllu, _trees, _plain_trees, "a.conllu"),
        "CoNLL-X": Reader(conllx, _trees, _plain_trees, "a.conllx"),
        "texts, TSV": Reader(tsv, _texts, _plain_tsv, "a.tsv", agree=_but_a_header),
        "texts, JSON lines": Reader(jsonl, _texts, _plain_json_lines, "a.jsonl"),
        "texts, CSV": Reader(texts_csv, _texts, _plain_csv, "a.csv", agree=_but_a_header),
        "texts, JSON list": Reader(listed, _texts, _plain_json_list, "a.json"),
        "pairs, TSV": Reader(pairs, _texts, _plain_tsv, "a.tsv", agree=_but_a_header),
        "pairs, JSON lines": Reader(json_pairs, _texts, _plain_json_lines, "a.jsonl"),
        "raw text": Reader(raw, _raw, _plain_raw, "a.txt"),
        "word vectors": Reader(vectors, _vectors, _plain_vectors, "a.txt"),
        "word vectors, gzip": Reader(gzip.compress(vectors, mtime=0), _vectors, None, "a.gz"),
        "word list": Reader(b"one\ntwo\nthree\n", read_words, _plain_words, "a.txt"),
        "table of candidates": Reader(as_json(table), _lexicon, _plain_lexicon, "a.json"),
        "sememes": Reader(as_json(senses), _sememes, _plain_sememes, "a.json"),
        "ELMo options": Reader(as_json(ELMO), _elmo, _plain_elmo, "options.json"),
        "recipe": Reader(recipe, _recipe, _plain_yaml, "a.yaml", agree=_holds),
        "configuration": Reader(config, _config, _plain_yaml, "a.yaml", agree=_holds),
    }


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
    for line in [*text_of(content).split("\n"), ""]:
        columns = line.rstrip("\r").split("\t")
        if not line.strip():
            sentences += [words] if words else []
            words = []
        elif len(columns) > 7 and columns[6] != "_":
            words.append((columns[1], int(columns[6]), columns[7]))
    return [tuple(words) for words in sentences]


# Texts, vectors and candidates


def rows_of(content: bytes) -> list[list[str]]:
    """Return the columns of each line."""
    lines = text_of(content).rstrip("\r\n").split("\n")
    return [line.removesuffix("\r").split("\t") for line in lines]


def _texts(path: Path) -> Value:
    return [(one.sentence.context, one.sentence.words, one.gold) for one in read_texts(path)]


def _but_a_header(value: Value, expected: Value) -> bool:
    """Compare texts; a first line whose label no other line has may be taken for a header."""
    header = expected and expected[0][-1] not in {text[-1] for text in expected[1:]}
    return same(value, expected) or (bool(header) and same(value, expected[1:]))


def _plain_tsv(content: bytes) -> Value:
    """Take as many columns in every line as in the first one: a text, or two, and a label."""
    rows = rows_of(content)
    width = len(rows[0])
    if width not in (2, 3) or any(len(row) != width for row in rows):
        raise ValueError(f"{width} columns in the first line, others in the rest")
    return _plain_texts(rows)


def _plain_csv(content: bytes) -> Value:
    """Take the first row as names if it has the usual ones."""
    names, *rows = csv.reader(io.StringIO(text_of(content).rstrip(), newline=""), strict=True)
    if {*names} != {"text", "label"}:
        return _plain_texts([names, *rows])
    return _plain_texts([[row[names.index(name)] for name in ("text", "label")] for row in rows])


def _plain_json_lines(content: bytes) -> Value:
    """Take the names of columns from the first line."""
    return _plain_objects([json.loads("\t".join(row)) for row in rows_of(content)])


def _plain_json_list(content: bytes) -> Value:
    return _plain_objects(json.loads(text_of(content)))


def _plain_objects(rows: list[dict[str, Any]]) -> Value:
    """Take usual names, and the other column of two if only one has a usual name."""
    names = ["text", "label"]
    if {"premise", "hypothesis"} <= rows[0].keys():
        names = ["premise", "hypothesis", "label"]
    elif len(rows[0]) == 2 and len({*names} & rows[0].keys()) == 1:
        names = [name if name in rows[0] else _other(rows[0], names) for name in names]
    return _plain_texts([[row[name] for name in names] for row in rows])


def _other(row: dict[str, Any], names: list[str]) -> str:
    (other,) = row.keys() - {*names}
    return other


def _plain_texts(rows: list[list[Any]]) -> Value:
    """Take the rows that have a label."""
    texts = []
    for *context, text, label in rows:
        if label is not None and str(label).strip() not in ("", "-", "-1", "nan"):
            first = tuple(context[0].split()) if context else ()
            texts.append((first, tuple(text.split()), str(label).strip()))
    return texts


def _vectors(path: Path) -> Value:
    words, values = read_vectors(path)
    return [(word, row.tolist()) for word, row in zip(words, values, strict=True)]


def _plain_vectors(content: bytes) -> Value:
    lines = [line for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    lines = lines[1:] if len(lines[0].split()) == 2 else lines
    first: dict[str, list[float]] = {}  # the vector of a word that is repeated, with a warning
    for line in lines:
        first.setdefault(*_plain_vector(line))
    return [*first.items()]


def _plain_vector(line: bytes) -> tuple[str, list[float]]:
    """Take as the word what comes before the first blank, or else before its values."""
    tokens, wordless = line.split(), line[:1].isspace()
    count = min(len(tokens) - (not wordless), 4)
    word = b"" if wordless else line.rsplit(None, count)[0]
    values = [float(np.float32(token.decode())) for token in tokens[-count:]]
    return word.decode(), values


def _plain_words(content: bytes) -> Value:
    return list(dict.fromkeys(text_of(content).split()))


def _lexicon(path: Path) -> Value:
    return Lexicon(str(path))._table


def _plain_lexicon(content: bytes) -> Value:
    table = {}
    for key, words in json.loads(text_of(content)).items():
        name, slash, tag = key.rpartition("/")
        table[f"{name.lower()}/{tag}" if slash and name else key.lower()] = tuple(words)
    return table


def _sememes(path: Path) -> Value:
    return [(word, part, sorted(found)) for word, part, found in _read_senses(path)]


def _plain_sememes(content: bytes) -> Value:
    senses = json.loads(text_of(content))
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


def _raw(path: Path) -> Value:
    return [one.sentence.words for one in raw_texts(path, ReadOptions(max_length=250), pairs=False)]


def _plain_raw(content: bytes) -> Value:
    return [tuple(words) for line in text_of(content).split("\n") if (words := line.split())]


ELMO = {
    "char_cnn": {
        "activation": "relu",
        "embedding": {"dim": 4},
        "filters": [[1, 4], [2, 8]],
        "max_characters_per_token": 50,
        "n_characters": 262,
        "n_highway": 2,
    },
    "lstm": {
        "cell_clip": 3,
        "dim": 16,
        "n_layers": 2,
        "proj_clip": 3,
        "projection_dim": 8,
        "use_skip_connections": True,
    },
}


def _elmo(path: Path) -> Value:
    sizes = sizes_of(read_options(str(path)), str(path))
    return [getattr(sizes, name) for name in sizes.__annotations__]


def _plain_elmo(content: bytes) -> Value:
    """Take the options in the order of `Sizes`."""
    options = json.loads(content)
    cnn, lstm = options["char_cnn"], options["lstm"]
    clips = [lstm[name] and float(lstm[name]) for name in ("cell_clip", "proj_clip")]
    return [
        *(cnn["max_characters_per_token"], cnn["embedding"]["dim"]),
        *(tuple(map(tuple, cnn["filters"])), cnn["activation"], cnn["n_highway"]),
        *(lstm[name] for name in ("projection_dim", "dim", "n_layers", "use_skip_connections")),
        *clips,
    ]


# Recipes and configurations


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

    with patch.object(fit.Cli, "before_instantiate_classes", stop):
        try:
            fit.run(checked(["fit", "--config", str(path)], MAPPINGS))
        except ParsedError as parsed:
            return json.loads(str(parsed))["fit"]
    return None


def _plain_yaml(content: bytes) -> Value:
    return yaml.load(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
