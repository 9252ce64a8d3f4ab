"""What it does to the scores of a parser that head 0 and its labels go together in its parses.

    python bench/root_labels.py --checkpoint best.ckpt --folder UD_English-EWT

The test sentences are parsed in each way to decode, without the rule and with it; each makes a row
of a table. A word contradicts the rule if it has head 0 or a label of head 0 in the training data,
but not both. Checkpoints that were written before there was a rule are measured too: the labels of
head 0 come from the training file.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from robustparse.api.inputs import load_models, system_name
from robustparse.data.conllu import find_split, read_treebank
from robustparse.data.vocab import Vocabulary
from robustparse.evaluation.clean import predictions, scores_of
from robustparse.models.base import Model
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.victim import ModelVictim
from robustparse.types import Example

HEAD = ["parser", "decoder", "rule", "UAS", "LAS", "words that contradict it"]
DECODERS = {
    **{name: {"decoder": name, "labelled": False} for name in ("greedy", "repair", "eisner")},
    "mst, labelled": {"decoder": "mst", "labelled": True},
}
BEAMS = {f"beam of {beam}": {"beam": beam} for beam in (1, 10)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", nargs="+", required=True, help="each is measured by itself")
    parser.add_argument("--folder", type=Path, required=True, help="the treebank")
    parser.add_argument("--sentences", type=int, help="the first N; by default all")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    options = parser.parse_args()
    training = read_treebank(find_split(options.folder, "train"))
    labels = Vocabulary.from_examples(training).root_labels
    examples = read_treebank(find_split(options.folder, "test"))[: options.sentences]
    print("|", " | ".join(HEAD), "|\n|" + "---|" * len(HEAD))
    rows = []
    for path in options.checkpoint:
        (model,) = load_models(path, device=options.device)
        for row in measured(model, examples, labels):
            rows.append({"parser": system_name([path]), **row})
            print("|", " | ".join(map(str, rows[-1].values())), "|", flush=True)
    if options.json:
        print(json.dumps({"root_labels": labels, "rows": rows}))


def measured(
    model: Model, examples: Sequence[Example], labels: tuple[str, ...]
) -> Iterator[dict[str, Any]]:
    """Yield a row for each way to decode, without the rule and with it."""
    for name, settings in (DECODERS if isinstance(model, BiaffineParser) else BEAMS).items():
        for setting, value in settings.items():
            setattr(model, setting, value)
        for rule, known in (("no", ()), ("yes", labels)):
            model.vocabulary = replace(model.vocabulary, root_labels=known)
            answers = list(predictions(ModelVictim([model]), examples))
            scores = scores_of(model.task, answers, examples, "none")
            heads = [head for each in answers for head in each.answer.heads]
            names = [label for each in answers for label in each.answer.labels]
            pairs = zip(heads, names, strict=True)
            yield {
                "decoder": name,
                "rule": rule,
                **{score: f"{scores[score]:.2f}" for score in model.task.scores},
                "contradictions": sum((head == 0) != (label in labels) for head, label in pairs),
            }


if __name__ == "__main__":
    main()
