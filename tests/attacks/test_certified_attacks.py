"""What is certified stays right under every attack within the same table."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attack_fakes import HashVictim, corpus

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.table import TableCandidates
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.search.beam import Beam, Greedy
from robustparse.attacks.search.genetic import Genetic
from robustparse.attacks.search.importance import PWWS, GreedyByImportance
from robustparse.attacks.search.particle_swarm import ParticleSwarm
from robustparse.attacks.search.random_substitution import RandomSubstitution
from robustparse.attacks.search.rankings import UnknownWord
from robustparse.attacks.search.requests import Search
from robustparse.attacks.search.wang2021 import Wang2021
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.certificates.allowed_inputs import Edits
from robustparse.certificates.exhaustion import Exhaustive
from robustparse.data.sample.treebank import treebank_lexicon
from robustparse.models.victim import ModelVictim
from robustparse.types import Example
from sample_runs import sentences, trained_parser

EDITS: tuple[Edits, ...] = (1, 2, "all")


def test_batches_and_order_change_nothing():
    examples, lexicon = corpus(16)
    table = table_of(lexicon)
    victim = HashVictim()

    def run(some: list[Example], **settings: Any) -> dict[int, tuple[Any, ...]]:
        made = Exhaustive(table, EDITS, 120, **settings).certificates(some, victim, Statistics())
        return {
            each.problem.id: (
                *(each.survived(edits).tolist() for edits in EDITS),
                *(each.undecided(edits) for edits in EDITS),
                each.tried,
                [witness.state.tolist() for witness in each.witnesses],
            )
            for each in made
        }

    reference = run(examples)
    assert run(examples[::-1]) == run(examples, batch_words=1) == reference
    assert run(examples[::-1], batch_words=60) == reference
    assert run(examples[7:9]) == {example.id: reference[example.id] for example in examples[7:9]}
    assert 0 < sum(any(of_one[3:6]) for of_one in reference.values()) < len(reference)


SEARCHES: dict[str, Search] = {
    "beam": Beam(width=3),
    "greedy": Greedy(),
    "importance": GreedyByImportance(UnknownWord()),
    "pwws": PWWS(),
    "genetic": Genetic(population=6, generations=3),
    "particle swarm": ParticleSwarm(population=6, iterations=3),
    "random": RandomSubstitution(),
    "wang2021": Wang2021(),
    "zheng2020": Zheng2020(gamma=0.5),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_no_attack_within_the_table_breaks_what_is_certified(name, tmp_path):
    examples, lexicon = corpus(30)
    check_against(name, HashVictim(), examples, table_of(lexicon), tmp_path / "table.jsonl")


@pytest.mark.parametrize("name", ["beam", "zheng2020"])
def test_no_attack_breaks_what_is_certified_of_a_parser(name, tmp_path):
    lexicon = {
        key.rpartition("/")[0] or key: words[:3] for key, words in treebank_lexicon(0).items()
    }
    victim = ModelVictim([trained_parser()])
    check_against(name, victim, sentences(8, "test"), table_of(lexicon), tmp_path / "table.jsonl")


def check_against(
    name: str, victim: Any, examples: list[Example], table: SubstitutionTable, path: Path
) -> None:
    """Parts certified at the number of changed words are right after an attack."""
    made = Exhaustive(table, EDITS, 120).certificates(examples, victim, Statistics())
    certificates = {each.problem.id: each for each in made}
    table.write(path)
    candidates = TableCandidates(str(path))
    changed, held = 0, 0
    for result in Attack(candidates, SEARCHES[name]).run(examples, victim):
        certificate, gold = certificates[result.id], result.example.gold
        heads = np.array(result.attacked.heads) == gold.heads
        labels = np.array(result.attacked.labels) == np.array(gold.labels)
        right = np.stack([heads, heads & labels], axis=-1)
        edits: Any = len(result.edited) or 1
        for number in [edits, *([] if edits == "all" else ["all"])]:
            of_number = certificate.certified(number)
            assert (of_number <= right).all()
            held += int(of_number.sum())
            assert (right >= ~certificate.survived(number) & of_number).all()
        changed += bool(result.edited)
    assert changed > 5
    assert held > 5


def table_of(lexicon: dict[str, list[str]]) -> SubstitutionTable:
    """A table of the words of a lexicon."""
    lowered = {
        word.lower(): tuple(
            dict.fromkeys(new.lower() for new in words if new.lower() != word.lower())
        )
        for word, words in lexicon.items()
    }
    return SubstitutionTable({word: words for word, words in lowered.items() if words})
