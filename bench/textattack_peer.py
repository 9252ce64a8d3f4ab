"""TextAttack's side of ``vs_textattack.py``; run by an interpreter that has textattack 0.3.11.

    python bench/textattack_peer.py --victim V.pt --texts X.jsonl --synonyms S.json \
        --stopwords W.txt --methods greedy --out FOLDER

Writes one line a text and round into a file a method: what became of it and the seconds it took.
Lines that are there already are not made again. In every round caches are new, and the seed is the
given one plus the round's number. Everything is TextAttack's own, with its own defaults (result
caches, 32 texts a forward pass unless ``--batch_size`` says otherwise); only the victim and the
table of substitutes come from outside, and ``vs_textattack.py`` sets the environment up. What the
victim's wrapper does, from strings to probabilities, is the victim's time. Of pairs only the
hypothesis may be changed.
"""

import argparse
import json
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import textattack
import torch
from textattack.attack_results import (
    MaximizedAttackResult,
    SkippedAttackResult,
    SuccessfulAttackResult,
)
from textattack.constraints.pre_transformation import (
    InputColumnModification,
    RepeatModification,
    StopwordModification,
)
from textattack.models.wrappers import HuggingFaceModelWrapper, ModelWrapper
from textattack.search_methods import (
    AlzantotGeneticAlgorithm,
    BeamSearch,
    GreedySearch,
    GreedyWordSwapWIR,
    ParticleSwarmOptimization,
    SearchMethod,
)
from textattack.transformations import WordSwap
from torch import Tensor, nn
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from textattack_network import PADDING, UNKNOWN, read_network
from textattack_peer_served import RECIPES, served_attack

Text = str | tuple[str, str]  # a pair has two
PREMISE, HYPOTHESIS = COLUMNS = ["premise", "hypothesis"]
WARMUP = 4  # texts attacked before the clock starts, as on the other side
SEARCHES: dict[str, Callable[[], SearchMethod]] = {
    "greedy": GreedySearch,
    "beam4": lambda: BeamSearch(beam_width=4),
    "beam8": lambda: BeamSearch(beam_width=8),
    "wir_unk": lambda: GreedyWordSwapWIR(wir_method="unk"),
    "wir_delete": lambda: GreedyWordSwapWIR(wir_method="delete"),
    "wir_pwws": lambda: GreedyWordSwapWIR(wir_method="weighted-saliency"),
    "wir_gradient": lambda: GreedyWordSwapWIR(wir_method="gradient"),
    "wir_random": lambda: GreedyWordSwapWIR(wir_method="random"),
    "pso": lambda: ParticleSwarmOptimization(pop_size=60, max_iters=20),
    "genetic": lambda: AlzantotGeneticAlgorithm(pop_size=60, max_iters=20),
}


class TimedVictim(ModelWrapper):
    """The classifier as TextAttack asks it, with the seconds of its answers.

    Args:
        model: the classifier.
        vocabulary: word -> id.
    """

    def __init__(self, model: nn.Module, vocabulary: dict[str, int]) -> None:
        self.model, self.vocabulary = model, vocabulary
        model.get_input_embeddings = lambda: model.emb
        self.reset()

    def reset(self) -> None:
        """Forget the seconds and the texts."""
        self.seconds = 0.0
        self.texts: set[Text] = set()

    @torch.no_grad()
    def __call__(self, text_input_list: Sequence[Text], **kwargs: Any) -> Tensor:
        """Probabilities ``float64 (n, classes)``: TextAttack would normalise single ones anew."""
        begin = time.perf_counter()
        columns = self._read(text_input_list)
        inputs = (part for ids, lengths in columns for part in (self.model.emb(ids), lengths))
        answer = torch.softmax(self.model(*inputs).double(), -1)
        self.seconds += time.perf_counter() - begin
        self.texts.update(text_input_list)
        return answer

    def get_grad(self, text_input: Text) -> dict[str, Any]:
        """Return the gradient of the predicted label's cross-entropy towards the embeddings."""
        begin = time.perf_counter()
        columns = self._read([text_input])
        vectors = [self.model.emb(ids).detach().requires_grad_() for ids, _ in columns]
        inputs = zip(vectors, (lengths for _, lengths in columns), strict=True)
        logits = self.model(*(part for column in inputs for part in column))
        loss = nn.functional.cross_entropy(logits, logits.argmax(-1))
        gradients = torch.cat(torch.autograd.grad(loss, vectors), 1)
        self.seconds += time.perf_counter() - begin
        ids = torch.cat([ids for ids, _ in columns], 1)
        return {"ids": ids[0].tolist(), "gradient": gradients[0].numpy()}

    def _tokenize(self, inputs: Sequence[Text]) -> list[list[str]]:
        return [" ".join(_columns(text)).split() for text in inputs]

    def _read(self, texts: Sequence[Text]) -> list[tuple[Tensor, Tensor]]:
        """Of each column, ids `(n, longest)` and lengths `(n,)`."""
        return [self._ids(column) for column in zip(*map(_columns, texts), strict=True)]

    def _ids(self, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Ids `(n, longest)` and lengths `(n,)`; an empty text is the unknown word."""
        known = self.vocabulary.get
        rows = [[known(word, UNKNOWN) for word in text.split()] or [UNKNOWN] for text in texts]
        longest = max(map(len, rows))
        padded = [row + [PADDING] * (longest - len(row)) for row in rows]
        return torch.tensor(padded), torch.tensor([len(row) for row in rows])


class TimedHuggingFace(HuggingFaceModelWrapper):
    """TextAttack's wrapper of a classifier of transformers, with the seconds of its answers.

    Args:
        folder: holds the model and its tokenizer.
        dtype: of the model.
    """

    def __init__(self, folder: Path, dtype: torch.dtype) -> None:
        model = AutoModelForSequenceClassification.from_pretrained(folder, torch_dtype=dtype)
        super().__init__(model.eval(), AutoTokenizer.from_pretrained(folder))
        self.reset()

    def reset(self) -> None:
        """Forget the seconds and the texts."""
        self.seconds = 0.0
        self.texts: set[Text] = set()

    def __call__(self, text_input_list: Sequence[Text]) -> Tensor:
        """Probabilities ``float64 (n, classes)``."""
        begin = time.perf_counter()
        answer = torch.softmax(super().__call__(text_input_list).double(), -1)
        self.seconds += time.perf_counter() - begin
        self.texts.update(text_input_list)
        return answer


Victim = TimedVictim | TimedHuggingFace


def _columns(text: Text) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else text


class TableSwap(WordSwap):
    """Substitutes from a table.

    Args:
        table: word -> substitutes.
    """

    def __init__(self, table: dict[str, list[str]]) -> None:
        super().__init__()
        self.table = table

    def _get_replacement_words(self, word: str) -> list[str]:
        return self.table.get(word, [])


def attack(method: str, victim: Victim, options: argparse.Namespace) -> textattack.Attack:
    """TextAttack's attack: every word changed once at most, stop words kept, nothing else."""
    goal = textattack.goal_functions.UntargetedClassification(
        victim, model_batch_size=options.batch_size
    )
    stop = options.stopwords.read_text("utf-8").split()
    if method in RECIPES:
        return served_attack(method, goal, stop, options.synonyms.parent)
    table = json.loads(options.synonyms.read_text("utf-8"))
    kept = InputColumnModification(COLUMNS, {PREMISE})
    constraints = [RepeatModification(), StopwordModification(stopwords=stop), kept]
    return textattack.Attack(goal, constraints, TableSwap(table), SEARCHES[method]())


def attacked(
    one: textattack.Attack, row: dict[str, Any], victim: Victim, seed: int
) -> dict[str, Any]:
    """Return what became of a text. Its random choices follow only from the seed and its index."""
    textattack.shared.utils.set_seed(seed + row["index"])
    victim.reset()
    one.transformation.index = str(row["index"])
    text: Any = row["text"]
    if row["premise"]:
        text = OrderedDict({PREMISE: row["premise"], HYPOTHESIS: row["text"]})
    # The processor's clock can take a fifth of a millisecond to read: never within the wall's time.
    begin_cpu, begin = time.process_time(), time.perf_counter()
    result = one.attack(text, int(row["label"]))
    seconds, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
    kind = {SkippedAttackResult: "skipped", SuccessfulAttackResult: "success"}.get(
        type(result), "failed"
    )
    first = len(row["premise"].split())
    before = result.original_result.attacked_text.words[first:]
    after = result.perturbed_result.attacked_text.words[first:]
    if isinstance(result, MaximizedAttackResult):  # input reduction never counts as a success
        kind = "success" if after != before else "failed"
    if before != row["text"].split():
        sys.exit(f"text {row['index']}: TextAttack splits it in another way: {before}")
    return {
        "index": row["index"],
        "kind": kind,
        "queries": int(result.num_queries),
        "unique_texts": len(victim.texts),
        "changed": [
            place for place, pair in enumerate(zip_longest(before, after)) if pair[0] != pair[1]
        ],
        "adversarial": " ".join(after),
        "score": float(result.perturbed_result.score),
        "seconds": seconds,
        "cpu_seconds": cpu,
        "victim_seconds": victim.seconds,
    }


def finished(path: Path) -> set[tuple[int, int]]:
    """Round and index of the whole lines of a file; a last one that was cut off is taken away."""
    if not path.exists():
        return set()
    whole, _, rest = path.read_text("utf-8").rpartition("\n")
    if rest:
        path.write_text(f"{whole}\n" if whole else "", "utf-8")
    return {(row["round"], row["index"]) for row in map(json.loads, whole.splitlines())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("victim", "texts", "synonyms", "stopwords", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--methods", nargs="+", choices=[*SEARCHES, *RECIPES], required=True)
    parser.add_argument("--limit", type=int, help="the first N texts")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch_size", type=int, default=32, help="texts of a forward pass")
    parser.add_argument("--dtype", default="float32", help="of the victim")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    dtype = getattr(torch, options.dtype)
    if options.victim.is_dir():
        victim = TimedHuggingFace(options.victim, dtype)
    else:
        victim = TimedVictim(*read_network(options.victim, dtype))
    rows = list(map(json.loads, options.texts.read_text("utf-8").splitlines()))[: options.limit]
    for method in options.methods:
        path = options.out / f"{method}.jsonl"
        done = finished(path)
        places = {(number, row["index"]) for number in range(options.rounds) for row in rows}
        for row in rows[:WARMUP] if places - done else ():
            attacked(attack(method, victim, options), row, victim, options.seed)
        with path.open("a", encoding="utf-8") as file:
            for number in range(options.rounds):
                one = attack(method, victim, options)
                for row in rows:
                    if (number, row["index"]) not in done:
                        found = attacked(one, row, victim, options.seed + number)
                        file.write(json.dumps({"round": number, **found}) + "\n")
                        file.flush()


if __name__ == "__main__":
    main()
