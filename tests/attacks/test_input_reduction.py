"""Input reduction, written out for one text after the other."""

from typing import Any

import numpy as np
import pytest
from search_fakes import Labelled
from test_label_flips import LABELS, Probabilities
from test_recipe_traces import Steady, texts
from test_recipes import recipe

from robustparse.attacks.goals.input_reduction import InputReduction
from robustparse.errors import InputError
from robustparse.types import Example, LogicalForm, Sentence

Found = tuple[str, bool, int]


def by_hand(text: list[str], victim: Probabilities) -> Found:
    """The likeliest three reductions of each length, until none keeps the label."""
    label, charged = int(victim.of(text).argmax()), 1
    beam: list[tuple[int, ...]] = [()]
    best: tuple[int, ...] = ()
    for _ in range(len(text)):
        reached = dict.fromkeys(
            tuple(sorted([*gone, at]))
            for gone in beam
            for at in range(len(text))
            if at not in gone and len(gone) + 1 < len(text)
        )
        charged += len(reached)
        rows = {
            gone: victim.of([word for at, word in enumerate(text) if at not in gone])
            for gone in reached
        }
        kept = [gone for gone, row in rows.items() if int(row.argmax()) == label]
        if not kept:
            break
        beam = sorted(kept, key=lambda gone: -float(rows[gone][label]))[:3]
        best = beam[0]
    left = " ".join(word for at, word in enumerate(text) if at not in best)
    return left, bool(best), charged


@pytest.mark.parametrize("victim", [Probabilities, Steady])
def test_outcomes_and_queries_are_those_of_the_algorithm(victim: Any) -> None:
    attack, asked, examples = recipe("input_reduction"), victim(), []
    attack.search.width = 3  # type: ignore[attr-defined]
    for number, text in enumerate(texts(40)):
        one: Any = Labelled(number, Sentence(tuple(text)), LABELS[number % 4])  # any label
        examples.append(one)
    results = {
        run.problem.id: (" ".join(" ".join(run.words).split()), run.success, run.queries.charged)
        for run in attack.search_runs(examples, asked)
    }
    assert results == {at: by_hand(text, victim()) for at, text in enumerate(texts(40))}
    assert len({success for _, success, _ in results.values()}) == 2


def test_only_labels_are_kept() -> None:
    form = Example(0, Sentence(("a",)), LogicalForm("( a )", "lambda"))
    with pytest.raises(InputError):
        InputReduction().gold([form], Probabilities())
    assert np.isfinite(Probabilities().of(["a"])).all()
