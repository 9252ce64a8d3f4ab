"""What an attack remembers of a sentence goes with it: nothing grows with their number."""

import gc
from dataclasses import replace

import pytest
from attack_fakes import HashVictim, corpus
from test_search_laws import SEARCHES

from robustparse.attacks import attack as module
from robustparse.attacks.attack import Attack, AttackResult
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.tags import AttackableTags
from robustparse.attacks.goals import AttachmentDrop
from robustparse.attacks.live import LiveSentence
from robustparse.attacks.problem import Problem
from robustparse.attacks.texts import Texts

EXAMPLES, LEXICON = corpus(30)
MANY = [replace(EXAMPLES[number % 30], id=number) for number in range(300)]
CHUNK, LIVE, SAMPLE = 16, 4, 128


def alive(kind: type) -> int:
    return sum(type(one) is kind for one in gc.get_objects())


@pytest.mark.parametrize("name", ["greedy", "gradient", "swarm"])
def test_finished_sentences_are_forgotten(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK", CHUNK)
    attack = Attack(
        AttachmentDrop(), Lexicon(LEXICON), SEARCHES[name], [AttackableTags()], live=LIVE, budget=40
    )
    gc.collect()
    before = {kind: alive(kind) for kind in (Problem, LiveSentence, AttackResult, Texts)}
    run = attack.run(MANY, HashVictim())
    for number, _ in enumerate(run, start=1):
        if number % 100 == 0:
            gc.collect()
            found = {kind: alive(kind) - before[kind] for kind in before}
            # Sentences that wait, those that search, and those whose last parse is under way.
            assert found[LiveSentence] <= 3 * LIVE
            assert found[Problem] <= CHUNK + 3 * LIVE
            assert found[AttackResult] <= 1
            # Texts are made for a forward pass, and what is sampled are states.
            assert found[Texts] == 0
            assert len(run._examples) <= CHUNK + 3 * LIVE
    assert number == 300
    assert len(run.statistics.sample) == SAMPLE
