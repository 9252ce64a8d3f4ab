"""A run that ends at any forward pass loses no more sentences than two passes hold."""

from dataclasses import replace
from pathlib import Path

import pytest
from attack_fakes import HashVictim, corpus
from attack_table import SEARCHES

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.search.beam import Greedy
from robustparse.attacks.search.requests import Search
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.evaluation.attack_folder import attack_into
from robustparse.evaluation.record_files import RecordFile
from robustparse.evaluation.records import ExampleRecord
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.types import Example, TextRows

CORPUS, LEXICON = corpus(20)
RUN = {"attack": "any", "victims": ["fake"], "seed": 0, "limit": None}
MANY = {word: [f"{word}{number}" for number in range(60)] for word in LEXICON}


def marked(example: Example) -> Example:
    """The example with its number as its first word, which nobody changes."""
    sentence = example.sentence
    words = (f"s{example.id}", *sentence.words[1:])
    return replace(example, sentence=replace(sentence, words=words))


EXAMPLES = [marked(example) for example in CORPUS]
LENGTHS = {example.id: len(example.sentence) for example in EXAMPLES}


class Killed(HashVictim):
    """Ends the run at a forward pass; notes whose texts it read, and what was finished before."""

    def __init__(self, folder: Path, end: int | None = None) -> None:
        super().__init__()
        self.file, self.end = RecordFile(folder / "examples.jsonl", ExampleRecord), end
        self.asked, self.written = set[int](), set[int]()
        self.finished: list[int] = []
        self.lost: list[set[int]] = []

    def predict(self, texts: TextRows):
        self.written |= {line["id"] for line in self.file.new_records()}
        self.finished.append(len(self.written))
        self.lost.append(self.asked - self.written)
        if len(self.lost) == self.end:
            raise KeyboardInterrupt
        # The clean text, which is read first, has the number.
        first = [self.names[row] for row in texts.words[:, 0].tolist()]
        self.asked |= {int(name[1:]) for name in first if name.startswith("s")}
        return super().predict(texts)


class Model(Lexicon):
    """Candidates of a model; notes for how many sentences they were made together."""

    is_model = True
    together: list[int]

    def propose(self, slots, seed):
        self.together.append(len({slot.id for slot in slots}))
        return super().propose(slots, seed)


def attack(
    search: Search,
    folder: Path,
    victim: HashVictim,
    candidates: Lexicon | None = None,
    **settings: int,
) -> None:
    candidates, goal = candidates or Lexicon(MANY), AttachmentDrop(least=3)
    chosen = Attack(candidates, search, [AttackableTags()], goal=goal, budget=50, **settings)
    attack_into(folder, DEPENDENCY, chosen, EXAMPLES, victim, dict(RUN))


@pytest.mark.parametrize("name", ["greedy", "pwws", "swarm", "unknown", "zheng"])
@pytest.mark.parametrize(("words", "queries"), [(1000, 1), (1000, 4), (100, 4096)])
@pytest.mark.parametrize("kind", [Lexicon, Model])
def test_no_more_is_lost_than_two_passes_hold(name, words, queries, kind, tmp_path):
    victim, candidates = Killed(tmp_path), kind(MANY)
    candidates.together = []
    search = SEARCHES.get(name, Zheng2020(gamma=0.3))
    attack(search, tmp_path, victim, candidates, batch_words=words, batch_queries=queries)
    held = {id_: min(queries, words // length) for id_, length in LENGTHS.items()}
    for lost in victim.lost:
        assert sum(1 / held[id_] for id_ in lost) <= 2 + 1e-6
    assert victim.asked == set(LENGTHS)
    assert len(victim.lost) > 10


def test_killed_at_any_forward_pass_it_ends_with_the_same_files(tmp_path):
    search, whole = Zheng2020(gamma=0.3), tmp_path / "whole"
    victim = Killed(whole)
    attack(search, whole, victim, batch_words=300)
    for end in range(1, len(victim.lost) + 1, 5):
        folder = tmp_path / str(end)
        with pytest.raises(KeyboardInterrupt):
            attack(search, folder, Killed(folder, end), batch_words=300)
        attack(search, folder, HashVictim())
        for name in ("examples.jsonl", "adversarial.conllu"):
            assert (folder / name).read_bytes() == (whole / name).read_bytes()


def test_sentences_are_finished_one_after_the_other_however_many_candidates_they_have(tmp_path):
    victim = Killed(tmp_path)
    attack(Greedy(), tmp_path, victim, batch_words=100)  # a sentence asks for several passes
    shares = [done / len(EXAMPLES) for done in victim.finished]
    assert len(shares) > 60
    for at, share in enumerate(shares):
        assert share > at / len(shares) - 0.4


def test_models_make_candidates_for_many_sentences_together(tmp_path):
    """Though a forward pass of the victim holds the words of two."""
    candidates = Model(MANY)
    candidates.together = []
    victim = Killed(tmp_path)
    attack(Zheng2020(gamma=0.3), tmp_path, victim, candidates, batch_words=150)
    assert max(candidates.together) >= 8
