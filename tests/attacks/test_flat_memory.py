"""What an attack remembers of a sentence goes with it: nothing grows with their number."""

import gc
from collections import Counter
from dataclasses import replace

import pytest
from attack_fakes import HashVictim, corpus
from attack_table import SEARCHES

from robustparse.attacks import attack as module
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.engine.search_run import SearchRun
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.problem import Problem
from robustparse.attacks.results import AttackResult
from robustparse.types import TextRows

EXAMPLES, LEXICON = corpus(30)
MANY = [replace(EXAMPLES[number % 30], id=number) for number in range(300)]
CHUNK, LIVE = 16, 4


@pytest.fixture
def _alone() -> None:
    """What was there before is not among the collector's objects, and takes it no time."""
    gc.collect()
    gc.freeze()


@pytest.mark.usefixtures("_alone")
@pytest.mark.parametrize("name", ["greedy", "gradient", "swarm"])
def test_finished_sentences_are_forgotten(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK", CHUNK)
    attack = Attack(
        Lexicon(LEXICON),
        SEARCHES[name],
        [AttackableTags()],
        goal=AttachmentDrop(),
        live=LIVE,
        budget=40,
    )
    run = attack.run(MANY, HashVictim())
    for number, _ in enumerate(run, start=1):
        if number % 100 == 0:
            gc.collect()
            found = Counter(map(type, gc.get_objects()))
            # Sentences that wait, those that search, and those whose last parse is under way.
            assert number == 300 or found[SearchRun] > 0  # they are seen
            assert found[SearchRun] <= 3 * LIVE
            assert found[Problem] <= CHUNK + 3 * LIVE
            assert found[AttackResult] <= 1
            # Texts are made for a forward pass.
            assert found[TextRows] == 0
    assert number == 300
