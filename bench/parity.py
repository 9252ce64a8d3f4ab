"""Our searches against outcomes of TextAttack on the same closed problem: texts, victim, synonyms.

    python bench/parity.py --victim V.pt --texts T.tsv --synonyms S.json --stopwords W.txt \
        --runs R.jsonl --json

The runs are one JSON line per method and text: ``method, index, kind, queries, unique_texts,
changed, adversarial``; TextAttack's runs with several seeds follow one another in the file.
``parity_runs.py`` makes such a file. Deterministic searches are compared text by text with the
first run: status, charged queries, changed positions, text. Random ones are compared by
distribution, ``--seeds`` of ours against as many of TextAttack's as the file has, as the two draw
from different generators.
"""

import argparse
import json
from collections import defaultdict
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import torch

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.words import StopWords
from robustparse.attacks.engine.search_run import SearchRun
from robustparse.attacks.goals.label_flip import LabelFlip
from robustparse.attacks.search.beam import Beam, Greedy
from robustparse.attacks.search.genetic import Genetic
from robustparse.attacks.search.importance import GreedyByImportance
from robustparse.attacks.search.particle_swarm import ParticleSwarm
from robustparse.attacks.search.rankings import (
    DeletedWord,
    GradientNorm,
    RandomOrder,
    UnknownWord,
    WeightedSaliency,
)
from robustparse.attacks.search.requests import Search
from robustparse.errors import InputError
from robustparse.models import ModelVictim
from robustparse.types import Example, Sentence
from textattack_victim import read_victim

DETERMINISTIC: dict[str, Search] = {
    "greedy": Greedy(outcome="last"),
    "beam4": Beam(width=4, members="concatenate", outcome="last"),
    "beam8": Beam(width=8, members="concatenate", outcome="last"),
    "wir_unk": GreedyByImportance(UnknownWord()),
    "wir_delete": GreedyByImportance(DeletedWord()),
    "wir_pwws": GreedyByImportance(WeightedSaliency(gain="score")),
    "wir_gradient": GreedyByImportance(GradientNorm()),
}
RANDOM: dict[str, Search] = {
    "wir_random": GreedyByImportance(RandomOrder()),
    "pso": ParticleSwarm(direction="textattack"),
    "genetic": Genetic(selection="textattack", repeats="redraw", outcome="last"),
}
SEEDS = 10


def read_texts(path: Path, limit: int | None) -> list[Example]:
    rows = [line.split("\t") for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [
        Example(
            number,
            Sentence(tuple(text.split()), context=tuple(" ".join(premise).split())),
            label.strip(),
        )
        for number, (*premise, text, label) in enumerate(rows[:limit])
    ]


def attacked(
    search: Search, texts: list[Example], victim: ModelVictim, args: argparse.Namespace, seed: int
) -> list[dict[str, Any]]:
    """Return what becomes of each text, as the runs say it."""
    table = json.loads(args.synonyms.read_text("utf-8"))
    # TextAttack sorts candidates by their texts, which decides between equal scores.
    lexicon = Lexicon({word: sorted(words) for word, words in table.items()})
    stop = StopWords(str(args.stopwords), fold=False)
    attack = Attack(lexicon, search, [stop], goal=LabelFlip(), seed=seed)
    runs = attack.search_runs(texts, victim)
    return sorted(map(line, runs), key=lambda one: int(one["index"]))


def line(sentence: SearchRun) -> dict[str, Any]:
    problem = sentence.problem
    before = problem.text(problem.start())
    # Words may have been left out or inserted.
    after = " ".join(problem.text(sentence.outcome)).split()
    pairs = enumerate(zip_longest(before, after))
    return {
        "index": problem.id,
        "kind": "skipped" if sentence.skipped else "success" if sentence.success else "failed",
        "queries": sentence.queries.charged,
        "unique_texts": sentence.queries.unique,
        "changed": [place for place, (old, new) in pairs if old != new],
        "adversarial": " ".join(after),
    }


def compared(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> dict[str, Any]:
    """Shares of texts with the same outcome, altogether and key by key."""
    keys = ("kind", "queries", "changed", "adversarial")
    by_index = {one["index"]: one for one in theirs}
    equal = np.array([[one[key] == by_index[one["index"]][key] for key in keys] for one in ours])
    return {
        "agreement": round(float(equal.all(axis=1).mean()), 4),
        **{f"same_{key}": round(float(equal[:, at].mean()), 4) for at, key in enumerate(keys)},
        "differing": [
            one["index"] for one, same in zip(ours, equal, strict=True) if not same.all()
        ],
        **summary(ours),
    }


def summary(lines: list[dict[str, Any]]) -> dict[str, float]:
    """Success in percent and mean queries, over the texts that were not skipped."""
    tried = [one for one in lines if one["kind"] != "skipped"]
    return {
        "success": round(100 * float(np.mean([one["kind"] == "success" for one in tried])), 2),
        "charged": round(float(np.mean([one["queries"] for one in tried])), 3),
        "unique": round(float(np.mean([one["unique_texts"] for one in tried])), 3),
    }


def distribution(
    ours: list[list[dict[str, Any]]], theirs: list[list[dict[str, Any]]]
) -> dict[str, Any]:
    """Means over our seeds against means over TextAttack's.

    Args:
        ours: by seed, what became of each text.
        theirs: the same of TextAttack.

    Returns:
        Our means, differences, and as ``agreement`` the share of texts with the same status among
        all pairs of one of our runs and one of theirs.
    """
    kinds = [{one["index"]: one["kind"] for one in lines} for lines in theirs]
    same = [one["kind"] == kind[one["index"]] for lines in ours for one in lines for kind in kinds]
    means, reference = mean_summary(ours), mean_summary(theirs)
    charged = [summary(lines)["charged"] for lines in ours]
    return {
        "agreement": round(float(np.mean(same)), 4),
        **means,
        "charged_lowest": min(charged),
        "charged_highest": max(charged),
        "success_difference": round(means["success"] - reference["success"], 3),
        "charged_ratio": round(means["charged"] / reference["charged"], 4),
        "seeds": len(ours),
        "reference_seeds": len(theirs),
    }


def mean_summary(runs: list[list[dict[str, Any]]]) -> dict[str, float]:
    """Return the means over runs of what ``summary`` says of each."""
    summaries = [summary(lines) for lines in runs]
    return {key: round(float(np.mean([one[key] for one in summaries])), 3) for key in summaries[0]}


def read_runs(path: Path) -> dict[str, list[list[dict[str, Any]]]]:
    """By method its runs, each with a line a text: the n-th line of a text is of the n-th run.

    Raises:
        InputError: the texts of a method have different numbers of lines.
    """
    found: dict[str, dict[int, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in map(json.loads, path.read_text("utf-8").splitlines()):
        found[row["method"]][row["index"]].append(row)
    for method, texts in found.items():
        counts = {index: len(rows) for index, rows in texts.items()}
        if len(set(counts.values())) > 1:
            least, most = min(counts, key=counts.__getitem__), max(counts, key=counts.__getitem__)
            raise InputError(
                f"{path}: {method} has {counts[most]} lines of text {most} and {counts[least]} of "
                f"text {least}; expected as many lines of each as there were seeds"
            )
    return {
        method: [list(lines) for lines in zip(*texts.values(), strict=True)]
        for method, texts in found.items()
    }


def problem_options(parser: argparse.ArgumentParser) -> None:
    """Options for the files of a closed problem, and for the seeds."""
    parser.add_argument("--victim", type=Path, required=True, help="a classifier's file")
    parser.add_argument("--texts", type=Path, required=True, help="text or pair TAB label")
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--synonyms", type=Path, required=True, help="JSON: word to substitutes")
    parser.add_argument("--stopwords", type=Path, required=True, help="words that are kept")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="of the random methods")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    problem_options(parser)
    parser.add_argument("--runs", type=Path, required=True, help="TextAttack's outcomes")
    parser.add_argument("--methods", nargs="+", help="by default all that the runs hold")
    parser.add_argument("--json", action="store_true", help="print the figures as one line")
    args = parser.parse_args()
    torch.set_num_threads(1)
    runs = read_runs(args.runs)
    victim = ModelVictim([read_victim(args.victim, getattr(torch, args.dtype))])
    figures: dict[str, Any] = {}
    for method in args.methods or [name for name in (*DETERMINISTIC, *RANDOM) if name in runs]:
        theirs = runs[method]
        texts = read_texts(args.texts, 1 + max(one["index"] for one in theirs[0]))
        if method in DETERMINISTIC:
            ours = attacked(DETERMINISTIC[method], texts, victim, args, 0)
            figures[method] = compared(ours, theirs[0])
        else:
            several = [
                attacked(RANDOM[method], texts, victim, args, seed) for seed in range(args.seeds)
            ]
            figures[method] = distribution(several, theirs)
        if not args.json:
            print(method, figures[method], flush=True)
    if args.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
