"""The comparison of ten searches in one space of candidates and constraints (Yoo et al. 2020).

    python bench/study.py --study yoo2020 --space yoo2020_glove.yaml --checkpoint best.ckpt \
        --data mr/test.tsv --texts 100 --masked_lm MODEL --home FOLDER

``--space`` is a recipe, whose search is not used: a copy of ``configs/attack/yoo2020_*.yaml`` with
this machine's files, and with minima that suit its models (``pass_rates.py``). The texts are drawn
from the file, which may be sorted by class. Each search attacks them into a folder of its own below
``--home``, where it resumes after a stop, and goes without a limit of queries, so that the success
within any budget follows from one run. Searches are those of TextAttack where it differs from their
papers, as in the benchmark. All of them share the constraints, which remember what their models
have said.

Quality is measured over the texts that all finished searches beat: the share of words changed, the
similarity of the texts (with ``--sentence_encoder``), and by how much perplexity rises, a mean over
texts. ``--table`` prints the tables of what is done.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parity import DETERMINISTIC, RANDOM
from robustparse import attack, load, read, recipe
from robustparse.attacks import (
    LanguageModel,
    SentenceSimilarity,
)
from robustparse.evaluation.lines import EXAMPLES, each_line
from robustparse.files import write_text
from robustparse.randomness import stream
from search_tables import Quality, Searched, beaten_by_all, tables

SEARCHES = DETERMINISTIC | RANDOM


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--space", type=Path, help="the recipe")
    parser.add_argument("--checkpoint", type=Path, help="the classifier")
    parser.add_argument("--data", type=Path, help="the texts")
    parser.add_argument("--texts", type=int, default=100)
    parser.add_argument("--searches", nargs="*", choices=SEARCHES, default=list(SEARCHES))
    parser.add_argument("--masked_lm", help="folder or name: measures pseudo-perplexity")
    parser.add_argument("--sentence_encoder", help="folder or name: measures similarity")
    parser.add_argument("--home", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--table", action="store_true", help="only print the tables")
    options = parser.parse_args(arguments)
    if not options.table:
        lacking = [f"--{one}" for one in ("space", "checkpoint", "data") if not vars(options)[one]]
        if lacking:
            parser.error(f"--study yoo2020 needs {', '.join(lacking)} too")
        attack_all(options)
    runs = searched(options.home)
    quality = options.home / "quality.json"
    if not options.table:
        write_text(quality, json.dumps(measured(runs, options)))
    print(tables(runs, json.loads(quality.read_text("utf-8")) if quality.exists() else {}))


def attack_all(options: argparse.Namespace) -> None:
    """Attack the texts with each search, unless it is done."""
    space, examples = recipe(options.space), read(options.data, "classification")
    order = stream(space.seed, 0, 1).permutation(len(examples))
    texts = [examples[place] for place in sorted(order[: options.texts].tolist())]
    victim = load(options.checkpoint)
    for name in options.searches:
        print(f"{name} ...", flush=True)
        space.search = SEARCHES[name]
        attack(victim, texts, space, out=options.home / name)


def searched(home: Path) -> dict[str, list[Searched]]:
    """Read the texts of each finished search, without those that were wrong at first."""
    finished = [name for name in SEARCHES if (home / name / "summary.json").exists()]
    return {
        name: [
            Searched(
                id=line["id"],
                before=tuple(line["tokens"]),
                after=tuple(line["adversarial_tokens"]),
                success=line["success"],
                queries=line["queries"]["charged"],
            )
            for line in each_line(home / name / EXAMPLES)
            if not line["skipped"]
        ]
        for name in finished
    }


def measured(runs: dict[str, list[Searched]], options: argparse.Namespace) -> dict[str, Quality]:
    """Measure the adversarial examples of the texts that all searches beat."""
    model = LanguageModel(options.masked_lm, "masked") if options.masked_lm else None
    encoder = SentenceSimilarity(options.sentence_encoder) if options.sentence_encoder else None
    return {name: quality(some, model, encoder) for name, some in beaten_by_all(runs).items()}


def quality(
    texts: Sequence[Searched], model: LanguageModel | None, encoder: SentenceSimilarity | None
) -> Quality:
    """Return means over texts; None of what no model measures, or of no text."""
    befores, afters = [one.before for one in texts], [one.after for one in texts]
    found: dict[str, Any] = {"similarity": None, "perplexity": None}
    if encoder and texts:
        joined = [[" ".join(words) for words in some] for some in (afters, befores)]
        found["similarity"] = float(encoder.between(*joined).mean())
    if model and texts:
        before, after = model.perplexities(befores), model.perplexities(afters)
        found["perplexity"] = float((100 * (after / before - 1)).mean())
    return {**found, "texts": len(texts)}


if __name__ == "__main__":
    main()
