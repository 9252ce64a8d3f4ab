"""Readers of what robustparse writes, such as checkpoints, attacks and metrics.

The annotators' answers are among them: their columns are written by robustparse.
"""

import contextlib
import csv
import hashlib
import io
import json
import math
from collections.abc import Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path

from damage import CONTRACT, Reader, Value, as_json, same, text_of
from robustparse.annotation.questionnaire import QUESTIONS, Item, export, read_key, read_rows
from robustparse.annotation.score import score
from robustparse.attacks.candidates.cache import CachedCandidates
from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.candidates.neighbours import EmbeddingNeighbours
from robustparse.data.conllu import read_treebank
from robustparse.evaluation import measure
from robustparse.evaluation.attack_folder import collect_into
from robustparse.evaluation.attack_processes import Records, Speed
from robustparse.evaluation.example_records import read_records
from robustparse.evaluation.finished_folders import read_scores
from robustparse.evaluation.records import (
    EXAMPLES,
    PAIR_MEASURES,
    RUN,
    SCORES,
    SUMMARY,
    TRANSFER,
)
from robustparse.models.checkpoint import read_checkpoint
from robustparse.models.load import load
from robustparse.options.recipe import Recipe
from robustparse.reports.attacked_systems import CURVES, read_folder
from robustparse.reports.entry import read_entry
from robustparse.reports.evaluation_tables import by_operation
from robustparse.reports.leaderboard import board
from robustparse.reports.new_entry import About, make_entry
from robustparse.reports.page import read_contents
from robustparse.reports.training import read_metrics
from robustparse.reports.transfer_maps import read_heat_maps, short_names
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.types import Example, Sentence


def written_readers(folder: Path) -> dict[str, Reader]:
    """Return the readers by what they read; the good files of some are written into a folder."""
    cache = folder / "a.sqlite"
    _cached(cache)
    checkpoint = (CONTRACT / "tiny.ckpt").read_bytes()
    _attacked(folder / "run")
    run = {name: (folder / "run" / name).read_bytes() for name in (EXAMPLES, RUN, SUMMARY)}
    curve = {"name": "a", "x": [0, 5.5], "y": [90, None]}
    curves = as_json({"title": "t", "x_label": "x", "y_label": "y", "curves": [curve]})
    metrics = b"step,name,value\n5,val/las,81.25\n5,robust/las@0.1,40.5\n9,val/las,82.0\n"
    key, pairs = _questionnaire(folder)
    beside = {"key.json": key}
    vectors = b"".join(b"w%d %d 1 %d\n" % (row, row, row * row) for row in range(6))
    (folder / "v.txt").write_bytes(vectors)
    _neighbours(folder / "table.npz")
    (table,) = folder.glob("*.npz")
    examples = {EXAMPLES: run[EXAMPLES]}
    quality = _quality(run[EXAMPLES])
    load(CONTRACT / "tiny.ckpt").save_pretrained(folder / "shared")
    shared = {path.name: path.read_bytes() for path in (folder / "shared").iterdir()}
    files = ("model.safetensors", "config.json", "vocabulary.json")
    digest = quality["examples"]
    plain = partial(_plain_quality, digest)
    return {
        "candidate cache": Reader(cache.read_bytes(), _cached, None, cache.name),
        "table of neighbours": Reader(
            table.read_bytes(), _neighbours, None, table.name, {"v.txt": vectors}
        ),
        "checkpoint": Reader(checkpoint, _checkpoint, None, "a.ckpt"),
        **{name: Reader(shared[name], _shared, None, name, shared) for name in files},
        "entry.json": Reader(_entry(), _ranked, _plain_ranked, "entry.json"),
        "examples.jsonl, resumed": _resumed_reader(run, EXAMPLES),
        "run.json, resumed": Reader(run[RUN], _resumed, None, RUN, run),
        "summary.json, resumed": _resumed_reader(run, SUMMARY),
        "examples.jsonl": Reader(run[EXAMPLES], _lines, _plain_lines, EXAMPLES),
        "summary.json, report": Reader(run[SUMMARY], _reported, _plain_summary, SUMMARY, run),
        "curves.json, report": Reader(curves, _plotted, _plain_curves, CURVES, run),
        "quality.json": Reader(
            as_json(quality), partial(_held, digest), plain, measure.QUALITY, examples
        ),
        "transfer.json": Reader(as_json(RATES), _heat_maps, _plain_heat_maps, TRANSFER),
        "scores.json": Reader(as_json(SCORED), _scored, _plain_scored, SCORES),
        "scores.json, perturbed": Reader(as_json(REWORDED), _reworded, _plain_reworded, SCORES),
        "metrics.csv": Reader(metrics, read_metrics, _plain_metrics, "metrics.csv"),
        "annotation key": Reader(key, read_key, _plain_key, "key.json"),
        "annotated pairs": Reader(pairs, _answers, _plain_answers, "pairs.csv", beside),
    }


# Candidates and checkpoints


class _Known(CandidateGenerator):
    """Proposes three words for each."""

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        return [[f"{slot.word}{number}" for number in range(3)] for slot in slots]

    def fingerprint(self) -> str:
        return "known"


SLOTS = [Slot(0, Sentence(("one", "two", "three")), position) for position in range(3)]


def _cached(path: Path) -> Value:
    return CachedCandidates(_Known(), str(path)).propose(SLOTS, 0)


def _neighbours(path: Path) -> Value:
    vectors = str(path.with_name("v.txt"))
    words, _, table = EmbeddingNeighbours(vectors, k=3, cache=str(path.parent))._table
    return words, table.tolist()


def _checkpoint(path: Path) -> Value:
    content = read_checkpoint(path)
    weights = {name: weight.tolist() for name, weight in content["state_dict"].items()}
    return content["robustparse"], content["global_step"], weights


def _shared(path: Path) -> Value:
    content = read_checkpoint(path.with_name("model.safetensors"))
    weights = {name: weight.tolist() for name, weight in sorted(content["state_dict"].items())}
    return content["robustparse"], weights


# Leaderboards


def _entry() -> bytes:
    contents = read_contents([CONTRACT / "attacked"])
    entry = make_entry(contents, About("tiny", "A paper", "silver trees"))
    bounds = {"lower": entry["clean"], "upper": entry["clean"], "undecided": 0, "inputs": 9}
    run = {"substitutes": "a.jsonl", "edits": [1], "cap": 9, "seed": 0, "data": "a.conllu"}
    (attack,) = entry["attacks"]
    worst = {score: [value, 1.5, 99.0] for score, value in attack["attacked"].items()}
    changed = {"certified": [{"run": run, "certified": {"1": bounds, "all": bounds}}]}
    changed |= {"attacks": [attack, attack], "worst_of_attacks": worst}
    return as_json({**entry, **changed, "right_in_all": attack["right"]})


def _ranked(path: Path) -> Value:
    return _row(read_entry(path))


def _plain_ranked(content: bytes) -> Value:
    return _row(json.loads(text_of(content)))


def _row(entry: Value) -> Value:
    made = board([entry])
    ((_, cells),) = made.rows
    return made.title, made.heads, [text for text, _ in cells], made.commands


# Attacks and training

TASK = DEPENDENCY
ATTACK = Recipe.read(CONTRACT / "words.yaml").attack()
COMPARED = ("n_words", "clean", "attacked", "success_rate", "queries_per_sentence", "by_tag")
LINES = {line["id"]: line for line in read_records(CONTRACT / "attacked" / EXAMPLES)}
SETTINGS = json.loads((CONTRACT / "attacked" / RUN).read_text("utf-8"))


def _attacked(folder: Path) -> Value:
    """Attack or resume in a folder, where the victim's answers are known; return the summary."""

    def source(pending: Sequence[Example]) -> Records:
        for example in pending:
            yield LINES[example.id]
        return Speed()

    examples = read_treebank(CONTRACT / "test.conllu")
    return collect_into(folder, TASK, ATTACK, source, examples, SETTINGS)


def _resumed(path: Path) -> Value:
    summary = _attacked(path.parent)
    lines = sorted(_lines(path.with_name(EXAMPLES)), key=itemgetter("id"))
    return lines, {key: summary.get(key) for key in COMPARED}


def _resumed_reader(run: dict[str, bytes], name: str) -> Reader:
    """Return the reader of a finished attack, one of whose files is damaged.

    What is accepted holds the records of the file, and those of sentences that it lacks, made
    again. The summary is the one in its file, or is made again from intact records.
    """

    def plain(content: bytes) -> Value:
        files = {**run, name: content}
        records = [*_plain_lines(run[EXAMPLES]), *_plain_lines(files[EXAMPLES])]
        lines = {record["id"]: record for record in records}
        return sorted(lines.values(), key=itemgetter("id")), files[SUMMARY]

    def agree(value: Value, expected: Value) -> bool:
        (lines, summary), (expected_lines, written) = value, expected
        if not same(lines, expected_lines):
            return False
        if not same(lines, sorted(_plain_lines(run[EXAMPLES]), key=itemgetter("id"))):
            return True
        return summary in (_summary_in(written), _summary_in(run[SUMMARY]))

    return Reader(run[name], _resumed, plain, name, run, agree)


def _summary_in(content: bytes) -> Value:
    try:
        summary = json.loads(text_of(content))
    except ValueError:
        return None
    return {key: summary.get(key) for key in COMPARED} if isinstance(summary, dict) else None


KEYS = [*next(iter(LINES.values()))]


def _lines(path: Path) -> list[Value]:
    """Read the known fields of each sentence; unknown ones are dropped."""
    return [{key: line.get(key) for key in KEYS} for line in read_records(path)]


def _plain_lines(content: bytes) -> Value:
    """Take all lines but a last one that has lost its end."""
    *lines, last = content.split(b"\n")
    records = [json.loads(line) for line in lines]
    with contextlib.suppress(ValueError):
        records.append(json.loads(last))
    return [{key: record.get(key) for key in KEYS} for record in records]


def _reported(path: Path) -> Value:
    return _scores(read_folder(path.parent, "a").summary)


def _plain_summary(content: bytes) -> Value:
    return _scores(json.loads(text_of(content)))


def _scores(summary: Value) -> Value:
    scores = [summary[side][name] for side in ("clean", "attacked") for name in ("uas", "las")]
    numbers = [None if one is None else float(one) for one in (*scores, summary["success_rate"])]
    return numbers, summary["n_words"], summary["attack"]


def _plotted(path: Path) -> Value:
    return [
        (p.title, p.x_label, p.y_label, [(c.name, *_points(c.x, c.y)) for c in p.curves])
        for p in read_folder(path.parent, "a").plots
    ]


def _plain_curves(content: bytes) -> Value:
    plot = json.loads(text_of(content))
    curves = [(curve["name"], *_points(curve["x"], curve["y"])) for curve in plot["curves"]]
    return [(plot["title"], plot["x_label"], plot["y_label"], curves)]


def _points(xs: Sequence[Value], ys: Sequence[Value]) -> list[tuple[float, float]]:
    both = zip(xs, ys, strict=True)
    return [(float(x), float(y)) for x, y in both if x is not None and y is not None]


def _quality(examples: bytes) -> Value:
    """Return what `measure` writes of these lines, with figures of no meaning."""
    middle = {"mean": 0.5, "median": 0.25}
    groups = {name: {"words": 3, **middle} for name in ("changed", "success")}
    whole = {"sentences": 3, "clean": middle, "attacked": middle}
    return {
        "examples": hashlib.sha256(examples).hexdigest(),
        "perplexity": {"model": "m", "kind": "masked", "all": whole},
        "word_similarity": {"vectors": "v.txt", "measure": "cosine", **groups},
    }


def _held(digest: str, path: Path) -> Value:
    return measure._stored_measures(path.parent, digest)


def _plain_quality(digest: str, content: bytes) -> Value:
    """Take the measures, if they are of these lines."""
    held = json.loads(text_of(content))
    names = ("perplexity", "word_similarity", "sentence_similarity")
    of_these = held.get("examples") == digest
    return {name: held[name] for name in names if of_these and name in held}


RATE = {"estimate": 42.5, "lower": 40.0, "upper": 45.25}
CELLS = [[{"rate": RATE, "given_success": given}] for given in (71.5, None)]
RATES = {"task": "dependency", "sources": ["a", "b"], "targets": ["c"], "rates": {"las": CELLS}}
NOISY = {"typos": {"uas": 80, "las": None}}
SCORED = {"task": "dependency", "uas": 91.5, "las": 89, "perturbed": NOISY}
MEASURED = dict.fromkeys(PAIR_MEASURES, 62.5)
REWORDED = {
    "task": "semantic",
    "exact_match": 87.5,
    "perturbed_files": {"insertion": {"rows": 8, **MEASURED}, "micro": {"rows": 8, **MEASURED}},
}


def _heat_maps(path: Path) -> Value:
    return [
        (
            one.targets,
            [
                (name, [(c.rate, c.interval, c.of_successes) for c in cells])
                for name, cells in one.rows
            ],
        )
        for one in read_heat_maps(path.parent)
    ]


def _plain_heat_maps(content: bytes) -> Value:
    """Take rates as they are shown, with the names that tell sources apart."""
    found = json.loads(text_of(content))
    return [
        (
            found["targets"],
            [
                (source, [_shown(cell) for cell in cells])
                for source, cells in zip(short_names(found["sources"]), rates, strict=True)
            ],
        )
        for rates in found["rates"].values()
    ]


def _shown(cell: Value) -> tuple[str, str, str]:
    rate, lower, upper = (float(cell["rate"][part]) for part in ("estimate", "lower", "upper"))
    given = cell["given_success"]
    shown = "" if given is None else f"{float(given):.1f}"
    return f"{rate:.1f}", f"[{lower:.1f}, {upper:.1f}]", shown


def _scored(path: Path) -> Value:
    found = read_scores(path.parent)
    return {"": found.clean, **found.perturbed}


def _plain_scored(content: bytes) -> Value:
    found = json.loads(text_of(content))
    every = {"": found, **found.get("perturbed", {})}
    return {
        name: {score: _float(row[score]) for score in ("uas", "las")} for name, row in every.items()
    }


def _reworded(path: Path) -> Value:
    found = read_scores(path.parent)
    rows = {name: int(row["rows"] or 0) for name, row in found.perturbed_files.items()}
    return (rows, {each: by_operation(found, each) for each in PAIR_MEASURES}) if rows else None


def _plain_reworded(content: bytes) -> Value:
    found = json.loads(text_of(content))
    files = found.get("perturbed_files")
    if not files:
        return None
    measures = {
        name: {key: _float(one[name]) for key, one in files.items()} for name in PAIR_MEASURES
    }
    first = next(iter(PAIR_MEASURES))
    measures[first] = {"all texts": _float(found["exact_match"]), **measures[first]}
    return {key: one["rows"] for key, one in files.items()}, measures


def _float(value: Value) -> Value:
    return None if value is None else float(value)


def _plain_metrics(content: bytes) -> Value:
    metrics: dict[str, dict[int, float]] = {}
    for step, name, value in csv.reader(text_of(content).split("\n")[1:-1]):
        if math.isfinite(float(value)):
            metrics.setdefault(name, {})[int(step)] = float(value)
    return metrics


# Human judgement

ASKED = ("item", *QUESTIONS)


def _questionnaire(folder: Path) -> tuple[bytes, bytes]:
    """Return a key, and an annotator's file with answers."""
    pairs = [line for line in LINES.values() if line["edited"]]
    (out,) = export(pairs, folder / "pairs.csv", folder / "key.json", 1, 0, 4)
    heading, *rows = out.read_text("utf-8").splitlines()
    answered = [heading, *(row.removesuffix(",,") + ",A,yes" for row in rows)]
    return (folder / "key.json").read_bytes(), "\n".join([*answered, ""]).encode()


def _plain_key(content: bytes) -> Value:
    items = json.loads(text_of(content))["items"]
    return {name: Item(one["annotator"], one["id"], one["original"]) for name, one in items.items()}


def _answers(path: Path) -> Value:
    score(path.with_name("key.json"), [path])
    return [tuple(row[name].strip().lower() for name in ASKED) for _, row in read_rows(path)]


def _plain_answers(content: bytes) -> Value:
    text = text_of(content)
    separator = max(",;\t", key=text.split("\n", 1)[0].count)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    named = [dict(zip(map(str.strip, rows[0]), row, strict=False)) for row in rows[1:] if any(row)]
    return [tuple(row[name].strip().lower() for name in ASKED) for row in named]
