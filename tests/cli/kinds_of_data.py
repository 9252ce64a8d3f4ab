"""Commands on tiny models and data of each kind, and what they write."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.data.sample.questions import sample_questions
from robustparse.data.sample.treebank import sample_tags
from robustparse.data.vocab import Vocabulary
from robustparse.models import (
    BiLSTMTagger,
    InferSent,
    LSTMEncoder,
    Model,
    Seq2Seq,
    WordEmbeddings,
)
from robustparse.tasks.classification import CLASSIFICATION
from robustparse.tasks.tags import TAGS
from robustparse.types import Example
from sample_runs import SPEED, save_checkpoint, sentences, trained_parser, write_sample
from sample_texts import texts, trained_classifier

COMMANDS = ("attack", "certify", "evaluate", "predict", "augment")
RECIPE = """
candidates:
  class_path: robustparse.attacks.TableCandidates
  init_args: {table: TABLE}
search: {class_path: robustparse.attacks.Zheng2020}
"""


def parser_of_forms() -> Model:
    """A parser with random weights."""
    known = Vocabulary.from_examples(sample_questions(0).split("train"), min_count=1)
    return Seq2Seq(LSTMEncoder(6, 0, 4, 6, 1), token_dim=4, hidden=6, seed=3, vocabulary=known)


def as_csv(path: Path, examples: list[Example]) -> None:
    rows = [f'{each.id},"{" ".join(each.sentence.words)}",{each.gold}' for each in examples]
    path.write_text("\n".join(["number,text,label", *rows]) + "\n")


def as_list(path: Path, examples: list[Example]) -> None:
    rows = [{"question": " ".join(each.sentence.words), "form": each.gold} for each in examples]
    path.write_text(json.dumps(rows))


def as_pairs(path: Path, examples: list[Example]) -> None:
    path.write_text("".join(map(CLASSIFICATION.files.write, examples)))


def as_lines(path: Path, examples: list[Example]) -> None:
    path.write_text("".join(map(TAGS.files.write, examples)))


def pairs(count: int) -> list[Example]:
    """Reviews as hypotheses to the reviews before them."""
    two = pairwise(texts(count + 1, "test"))
    return [
        replace(second, id=at, sentence=replace(second.sentence, context=first.sentence.words))
        for at, (first, second) in enumerate(two)
    ]


def reader_of_pairs() -> Model:
    """A classifier of pairs with random weights."""
    known = Vocabulary.from_examples(pairs(8), min_count=1)
    return InferSent(WordEmbeddings(5, dropout=0.0), 3, 4, dropout=0.0, vocabulary=known)


def tagger() -> Model:
    """A tagger with random weights."""
    known = Vocabulary.from_examples(sample_tags(0).split("test"), min_count=1)
    return BiLSTMTagger(LSTMEncoder(6, 0, 4, 6, 1), vocabulary=known)


# A model, its data, their file, and how it is written: as a treebank, a table with a header, a JSON
# list, a table without a header, and lines of words and tags.
TASKS: dict[str, tuple[Callable[[], Model], list[Example], str, Callable[..., object]]] = {
    "trees": (trained_parser, sentences(8, "test"), "test.conllu", write_sample),
    "texts": (trained_classifier, texts(8, "test"), "test.csv", as_csv),
    "forms": (parser_of_forms, sample_questions(0).split("test")[:8], "test.json", as_list),
    "pairs": (reader_of_pairs, pairs(8), "test.tsv", as_pairs),
    "tags": (tagger, sample_tags(0).split("test")[:8], "test.conll", as_lines),
}


def make(task: str, folder: Path) -> Path:
    """Write a checkpoint, data, a substitution table, and a recipe of an attack within it."""
    model, examples, name, write = TASKS[task]
    save_checkpoint(model().float(), folder / "tiny.ckpt")
    write(folder / name, examples)
    words = sorted({word.lower() for each in examples for word in each.sentence.words})
    table = {word: [new] for word, new in pairwise(words)}
    SubstitutionTable(table).write(folder / "table.jsonl")
    recipe = RECIPE.replace("TABLE", str(folder / "table.jsonl"))
    (folder / "recipe.yaml").write_text(recipe)
    return folder


def arguments(
    command: str, made: Path, out: Path, *more: str, files: Sequence[Path] = ()
) -> list[str]:
    """A command on the first seven sentences; one of files writes into the folder ``out``.

    The sentences are those of the folder, or those of the files.
    """
    (data,) = made.glob("test.*")
    name, *attack = command.split()
    of_operations = command == "augment"
    given: dict[str, object] = {"out": out}
    given |= {} if of_operations else {"checkpoint": made / "tiny.ckpt", "device": "cpu"}
    given |= {} if name == "predict" else {"limit": 7}
    if name in ("predict", "augment"):
        out.mkdir(exist_ok=True)
        given["out"] = out / data.name
    given |= {"operations": "typos"} if of_operations else {}
    tasks = {".json": "semantic", ".conll": "tags"}
    given |= {"task": tasks[data.suffix]} if of_operations and data.suffix in tasks else {}
    given |= {"attack": made / "recipe.yaml"} if attack or name == "attack" else {}
    given |= {"perturbed": "typos,casing"} if name == "evaluate" else {}
    given |= {"substitutes": made / "table.jsonl", "cap": 9} if name == "certify" else {}
    options = [f"--{key}={value}" for key, value in given.items()]
    return [name, "--data", *map(str, files or [data]), *options, *more]


def output(arguments: list[str]) -> str:
    """The folder or file that a command writes."""
    (out,) = (each.removeprefix("--out=") for each in arguments if each.startswith("--out="))
    return out


def written(folder: Path) -> dict[str, Any]:
    """The content of all files below a folder, without times."""
    files: dict[str, Any] = {}
    for path in folder.rglob("*"):
        if path.is_file():
            name = str(path.relative_to(folder))
            files[name] = path.read_bytes()
            if name.endswith("summary.json"):
                summary = json.loads(files[name])
                timeless = {**summary, **dict.fromkeys(SPEED | {"victim_seconds"} & {*summary})}
                files[name] = json.dumps(timeless)
    return files
