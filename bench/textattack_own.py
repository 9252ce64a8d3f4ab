"""robustparse's side of ``vs_textattack.py``.

    python bench/textattack_own.py --victim V.pt --texts X.jsonl --synonyms S.json \
        --stopwords W.txt --methods greedy --out FOLDER

Writes one file a method: what became of every text in each round, the seconds that all of them
took, by the wall's clock and by the processor's, and the victim's seconds among the former; medians
over rounds, each run several times. The seed of a round is the given one plus the round's number.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from parity import DETERMINISTIC, RANDOM, line
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.words import StopWords
from robustparse.attacks.engine.search_run import SearchRun
from robustparse.attacks.goals.label_flip import LabelFlip
from robustparse.files.writing import write_text
from robustparse.models import ModelVictim
from robustparse.types import Example
from robustparse.victims import HuggingFaceClassifier
from textattack_problem import kept_texts
from textattack_served import RECIPES, attack_of, forget
from textattack_victim import read_victim

WARMUP = 4  # texts attacked before the clock starts
BATCH_WORDS = 8192  # of a forward pass: what the caches of a core hold with a small network
REPEATS = 9  # of a round: it is over in a moment, in which the machine may be slow for once


class Timed:
    """A victim that notes the seconds of its answers."""

    def reset(self) -> None:
        """Forget the seconds."""
        self.seconds = 0.0

    def predict(self, *arguments: Any) -> Any:
        """See `Victim.predict`."""
        return self._timed(super().predict, arguments)  # type: ignore[misc]

    def gradient(self, *arguments: Any) -> Any:
        """See `DifferentiableVictim.gradient`."""
        return self._timed(super().gradient, arguments)  # type: ignore[misc]

    def _timed(self, answer: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        begin = time.perf_counter()
        given = answer(*arguments)
        self.seconds += time.perf_counter() - begin
        return given


class TimedVictim(Timed, ModelVictim):
    """A classifier of ours."""


class TimedClassifier(Timed, HuggingFaceClassifier):
    """A classifier of transformers."""


Victims = TimedVictim | TimedClassifier


def outcome(sentence: SearchRun) -> dict[str, Any]:
    """Return a text's outcome, as ``parity.py`` says it, and its probability of another label."""
    score = float(sentence.verdict.scores[0])
    return {**line(sentence), "score": score}


def attacked(
    attack: Attack, texts: Sequence[Example], victim: Victims
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """Return the outcomes by index, and the attack's and its victim's seconds by each clock."""
    victim.reset()
    forget(attack)
    # The processor's clock can take a fifth of a millisecond to read: never within the wall's time.
    begin_cpu, begin = time.process_time(), time.perf_counter()
    runs = list(attack.search_runs(texts, victim))
    seconds, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
    spent = {"seconds": seconds, "cpu_seconds": cpu, "victim_seconds": victim.seconds}
    return sorted(map(outcome, runs), key=lambda one: int(one["index"])), spent


def attack_of_method(method: str, options: argparse.Namespace) -> Attack:
    """Return our attack of a search or a recipe."""
    if method in RECIPES:
        folder = options.synonyms.parent
        vectors = str(folder / "vectors.txt")
        return attack_of(method, folder, vectors, options.stopwords, options.seed)
    lexicon = Lexicon(str(options.synonyms))
    stop = StopWords(str(options.stopwords), fold=False)
    search = {**DETERMINISTIC, **RANDOM}[method]
    return Attack(lexicon, search, [stop], goal=LabelFlip(), seed=options.seed)


def measured(
    attack: Attack, texts: Sequence[Example], victim: Victims, options: argparse.Namespace
) -> dict[str, Any]:
    """One method's outcomes by round, and its seconds: medians over the rounds."""
    attack.batch_words = BATCH_WORDS
    attacked(attack, texts[:WARMUP], victim)
    rounds, spent = [], []
    for number in range(options.rounds):
        attack.seed = options.seed + number
        for _ in range(REPEATS if isinstance(victim, TimedVictim) else 1):
            outcomes, seconds = attacked(attack, texts, victim)
            spent.append(seconds)
        rounds.append(outcomes)
    middle = {name: statistics.median(one[name] for one in spent) for name in spent[0]}
    return {**middle, "rounds": rounds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("victim", "texts", "synonyms", "stopwords", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--methods", nargs="+", required=True)
    parser.add_argument("--limit", type=int, help="the first N texts")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dtype", default="float32", help="of the victim")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    victim: Victims
    if options.victim.is_dir():
        victim = TimedClassifier(str(options.victim), device="cpu", precision=options.dtype)
    else:
        victim = TimedVictim([read_victim(options.victim, getattr(torch, options.dtype))])
    texts = kept_texts(options.texts)[: options.limit]
    for method in options.methods:
        figures = measured(attack_of_method(method, options), texts, victim, options)
        write_text(options.out / f"{method}.json", json.dumps(figures))


if __name__ == "__main__":
    main()
