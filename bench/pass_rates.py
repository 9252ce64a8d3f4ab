"""How often each constraint of a recipe lets candidates pass, and how often random words.

    python bench/pass_rates.py --attack textfooler.yaml --data mr/test.tsv --minima 0.7 0.8 0.9

A threshold is worth what it keeps out: a constraint that admits most random words constrains
little, whatever its minimum. Of each text one word is changed that may be and has candidates, by
the first of its candidates (the nearest one, as a rule), by one of them at random, and by a
word drawn from all distinct words of the file. Constraints judge each on its own, and all together;
with ``--minima`` those on changed sentences judge by these thresholds too.
"""

import argparse
import json
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from robustparse import read, recipe
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.sentence_constraint import Edit, SentenceConstraint
from robustparse.randomness import stream
from robustparse.types import Example, Mask

DRAWN = ("first candidate", "any candidate", "random word")
_NO_VICTIM: Any = None  # the constraints whose rates are measured ask it nothing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attack", required=True, help="name or path of the recipe")
    parser.add_argument("--data", type=Path, required=True, help="file of texts")
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--minima", type=float, nargs="*", default=[])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print one JSON object, as last line")
    options = parser.parse_args()
    examples = read(options.data, "classification")
    attack, numbers = recipe(options.attack), (options.texts, options.seed)
    rates = pass_rates(attack, examples, *numbers, options.minima)
    print(f"| constraint | minimum | {' | '.join(f'{name} %' for name in DRAWN)} |")
    print("|---" * (2 + len(DRAWN)) + "|")
    for row in rates:
        shown = " | ".join(f"{row[name]:.1f}" for name in DRAWN)
        minimum = "-" if row["minimum"] is None else row["minimum"]
        print(f"| {row['constraint']} | {minimum} | {shown} |")
    if options.json:
        print(json.dumps(rates))


def pass_rates(
    attack: Attack,
    examples: Sequence[Example],
    texts: int,
    seed: int = 0,
    minima: Sequence[float] = (),
) -> list[dict[str, Any]]:
    """Return the percentage of each kind of word that passes, by constraint and in all.

    Args:
        attack: its candidates and constraints need no victim.
        examples: texts, of which some are drawn.
        texts: how many.
        seed: of the draws; those of a text follow from it and the text's id.
        minima: further ones of constraints on changed sentences that have one.
    """
    order = stream(seed, 0, 1).permutation(len(examples))
    words = sorted({word for example in examples for word in example.sentence.words})
    slots, drawn = [], []
    for place in order.tolist():
        if found := _drawn(attack, examples[place], words, seed):
            slots.append(found[0])
            drawn.append(found[1])
        if len(slots) == texts:
            break
    own = [one for one in attack.constraints if _judges(one)]
    judging = [*own, *(_at(one, least) for one in own if _has_minimum(one) for least in minima)]
    passed = {
        name: [_passed(one, slots, [some[kind] for some in drawn]) for one in judging]
        for kind, name in enumerate(DRAWN)
    }
    rows: list[dict[str, Any]] = [
        {"constraint": type(one).__name__, "minimum": getattr(one, "minimum", None)}
        | {name: 100 * float(masks[row].mean()) for name, masks in passed.items()}
        for row, one in enumerate(judging)
    ]
    together = {
        name: 100 * float(np.all(masks[: len(own)], axis=0).mean())
        for name, masks in passed.items()
    }
    return [*rows, {"constraint": "all together", "minimum": None, **together}]


def _drawn(
    attack: Attack, example: Example, words: Sequence[str], seed: int
) -> tuple[Slot, tuple[str, str, str]] | None:
    """Draw a slot of a text and what is put there, as `DRAWN` says; None without candidates."""
    rng = stream(seed, example.id)
    masks = [one.attackable(example) for one in attack.constraints]
    for position in rng.permutation(np.flatnonzero(np.all(masks, axis=0))).tolist():
        slot = Slot(example.id, example.sentence, position)
        (proposed,) = attack.candidates.propose([slot], seed)
        if proposed:
            others = [word for word in words if word.lower() != slot.word.lower()]
            return slot, (proposed[0], str(rng.choice(proposed)), str(rng.choice(others)))
    return None


def _judges(constraint: Constraint) -> bool:
    """Tell whether a constraint looks at candidates; others say which words may be changed."""
    asked = type(constraint).accept is not Constraint.accept
    return asked or isinstance(constraint, SentenceConstraint)


def _has_minimum(constraint: Constraint) -> bool:
    return isinstance(constraint, SentenceConstraint) and hasattr(constraint, "minimum")


def _at(constraint: Any, minimum: float) -> Constraint:
    """Return the constraint with another minimum; what its model has said it remembers."""
    other = copy(constraint)
    other.minimum = minimum
    return other


def _passed(constraint: Constraint, slots: Sequence[Slot], words: Sequence[str]) -> Mask:
    """Tell which changes of one word of the original text pass, `(slots,)`."""
    if isinstance(constraint, SentenceConstraint):
        return constraint.admits(
            [
                Edit(slot.sentence, slot.sentence.words, slot.position, word)
                for slot, word in zip(slots, words, strict=True)
            ]
        )
    return np.concatenate(constraint.accept(slots, [[word] for word in words], _NO_VICTIM))


if __name__ == "__main__":
    main()
