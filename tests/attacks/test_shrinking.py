"""A law of constraints: each one that is added can only shrink the sets of candidates."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from recipe_models import recipe, stand_in, write_models

from robustparse.attacks.attack import Attack, usual_goal
from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.attacks.engine.problem_builder import ProblemBuilder
from robustparse.attacks.engine.statistics import Statistics
from robustparse.models.victim import ModelVictim
from sample_runs import sentences, trained_parser

RECIPES = (
    *("beam", "textfooler", "wang2021", "wang2021_open"),
    *("yoo2020_glove", "yoo2020_wordnet", "zheng2020_blackbox"),
)
EXAMPLES = sentences(5, "test")


def admissible(attack: Attack, count: int) -> set[tuple[int, int, str]]:
    """Sentence, position and word of the changes of one word that the first constraints admit."""
    builder = ProblemBuilder(
        ModelVictim([trained_parser()]),
        attack.candidates,
        attack.constraints[:count],
        attack.goal or usual_goal(EXAMPLES[0].gold),
        attack.seed,
        Statistics(),
    )
    problems = builder.build(EXAMPLES)
    problems = builder.extend(problems, [np.flatnonzero(one.eligible) for one in problems])
    edits = [
        Edit(problem.sentence, problem.sentence.words, position, word)
        for problem in problems
        for position in range(len(problem))
        for word in problem.words[problem.ptr[position] : problem.ptr[position + 1]]
    ]
    owners = [problem.id for problem in problems for _ in problem.words]
    passed = np.ones(len(edits), dtype=np.bool_)
    if builder.constrained:
        parts = [
            [edit for edit, owner in zip(edits, owners, strict=True) if owner == problem.id]
            for problem in problems
        ]
        passed = np.concatenate(builder.admits(problems, parts))
    return {
        (owner, edit.position, edit.word)
        for owner, edit, good in zip(owners, edits, passed.tolist(), strict=True)
        if good
    }


@pytest.mark.parametrize("name", RECIPES)
def test_each_constraint_only_shrinks_what_may_be_changed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch)
    write_models(tmp_path)
    attack = recipe(name, tmp_path)
    sets = [admissible(attack, count) for count in range(len(attack.constraints) + 1)]
    assert all(more < fewer for fewer, more in pairwise(sets))
    assert sets[-1]
