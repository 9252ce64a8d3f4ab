"""Packing, order and resumption change nothing; queries are counted as stated."""

import random
from collections.abc import Generator

import numpy as np
import pytest
from attack_fakes import HashVictim, TableVictim, corpus, example
from search_fakes import Climb

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.engine.statistics import victim_seconds_alone
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.problem import Problem
from robustparse.attacks.results import AttackResult
from robustparse.attacks.search.importance import GreedyByImportance
from robustparse.attacks.search.rankings import DeletedWord
from robustparse.attacks.search.requests import Answer, Outcome, Request, Score, Search
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.errors import InputError

EXAMPLES, LEXICON = corpus(120)


def engine(search: Search | None = None, **settings) -> Attack:
    defaults = {
        "goal": AttachmentDrop(metric="las", success="strict", punctuation="penn"),
        "candidates": Lexicon(LEXICON),
        "search": search or Zheng2020(gamma=0.3, psi=4),
        "constraints": [AttackableTags()],
    }
    return Attack(**(defaults | settings))


def test_states_that_read_the_same_are_two() -> None:
    # Without the first a and without the second: one text, asked about and counted twice.
    search, victim = GreedyByImportance(DeletedWord()), HashVictim()
    attack = Attack(Lexicon({}), search, goal=AttachmentDrop(least=9))
    (result,) = attack.run([example("a a b", "NN NN NN")], victim)
    assert victim.texts == ["a a b", "a b", "a b", "a a", "a a b"]
    assert (result.charged, result.unique) == (4, 4)


def by_id(results) -> dict[int, AttackResult]:
    return {result.id: result for result in results}


@pytest.fixture(
    scope="module", params=[Zheng2020(gamma=0.3, psi=4), Climb()], ids=["zheng", "climb"]
)
def search(request: pytest.FixtureRequest) -> Search:
    return request.param


@pytest.fixture(scope="module")
def reference(search: Search) -> dict[int, AttackResult]:
    return by_id(engine(search).run(EXAMPLES, HashVictim()))


@pytest.mark.parametrize(
    "packing",
    [
        {"batch_queries": 1},
        {"batch_words": 1},
        {"batch_queries": 4096, "batch_words": 1 << 20},
        {"live": 1},
        {"live": 7, "batch_words": 50},
    ],
    ids=str,
)
def test_packing_changes_nothing(search: Search, reference: dict, packing: dict) -> None:
    assert by_id(engine(search, **packing).run(EXAMPLES, HashVictim())) == reference


def test_order_changes_nothing(search: Search, reference: dict) -> None:
    shuffled = random.Random(1).sample(EXAMPLES, len(EXAMPLES))
    assert by_id(engine(search).run(shuffled, HashVictim())) == reference


def test_a_resumed_part_equals_the_whole(search: Search, reference: dict) -> None:
    rest = [one for one in EXAMPLES if one.id % 3]
    assert by_id(engine(search).run(rest, HashVictim())) == {
        one.id: reference[one.id] for one in rest
    }


def test_seed_changes_something(search: Search, reference: dict) -> None:
    assert by_id(engine(search, seed=1).run(EXAMPLES, HashVictim())) != reference


def test_reference_is_no_empty_check(reference: dict) -> None:
    assert sorted(reference) == [one.id for one in EXAMPLES]
    assert 0 < sum(result.success for result in reference.values()) < len(reference)
    assert all(result.unique <= result.charged for result in reference.values())


def test_repeats_are_charged_but_parsed_once() -> None:
    victim = HashVictim()
    results = list(engine(Climb()).run(EXAMPLES, victim))
    assert sum(result.charged for result in results) > 2 * sum(result.unique for result in results)
    assert len(victim.texts) == sum(result.unique for result in results) + len(EXAMPLES)


@pytest.mark.parametrize("budget", [1, 2, 5, 17])
def test_budget_is_never_exceeded(search: Search, reference: dict, budget: int) -> None:
    for result in engine(search, budget=budget).run(EXAMPLES, HashVictim()):
        assert result.charged == min(budget, reference[result.id].charged)


def test_a_search_that_asks_on_is_refused() -> None:
    class Deaf(Search):
        def run(
            self, problem: Problem, clean: Answer, rng: np.random.Generator
        ) -> Generator[Request, Answer, Outcome]:
            while True:
                yield Score(problem.start()[None])

    with pytest.raises(RuntimeError, match="asks on after its budget"):
        list(engine(Deaf(), budget=3).run(EXAMPLES[:1], HashVictim()))
    # Where the clean parse has spent the budget, the search does not begin.
    (result,) = engine(Deaf(), budget=1).run(EXAMPLES[:1], HashVictim())
    assert (result.charged, result.edited) == (1, ())


@pytest.mark.parametrize("given", [{"batch_words": 600}, {}], ids=["given", "by_the_victim"])
def test_batches_hold_similar_lengths_within_the_limits(given: dict[str, int]) -> None:
    class Watchful(HashVictim):
        batch_words = 16384 if given else 600

        def parse(self, words, tags, lengths):
            padding = words.size - lengths.sum()
            assert len(lengths) == 1 or (words.size <= 600 and padding <= 600 // 16)
            assert len(lengths) <= 30
            return super().parse(words, tags, lengths)

    run = engine(**given, batch_queries=30).run(EXAMPLES, Watchful())
    results = list(run)
    statistics = run.statistics
    assert statistics.texts == sum(result.unique + 1 for result in results)
    assert statistics.texts / statistics.forwards > 15
    assert statistics.unique_words == sum(result.unique * len(result.words) for result in results)
    assert statistics.words == statistics.unique_words + sum(len(one.words) for one in results)


def test_the_time_alone_scales_a_replay() -> None:
    run = engine().run(EXAMPLES, HashVictim())
    run.statistics.sample_size = 1000  # all of them
    list(run)
    counter = HashVictim()
    counter.batch_words = 200
    counter.names = ["x"] * 1000
    statistics = run.statistics
    assert victim_seconds_alone(counter, statistics) > 0
    assert len(statistics.sample) == 120
    replayed = sum(len(text) for batch in counter.batches[1:] for text in batch)
    assert replayed == statistics.unique_words
    assert all(len(batch) * len(batch[0]) <= 200 for batch in counter.batches)


def test_sample_is_bounded_and_uniform() -> None:
    counts = np.zeros(3)
    for seed in range(300):
        run = engine().run(EXAMPLES[:3], HashVictim())
        run.statistics.sample_size = 1
        run.statistics._draws = np.random.default_rng(seed)
        order = [result.id for result in run]
        kept = len(run.statistics.sample[0][0].original)
        lengths = {len(EXAMPLES[number].sentence): number for number in order}
        assert len(lengths) == 3
        counts[lengths[kept]] += 1
    assert ((counts - 100) ** 2 / 100).sum() < 13.8  # 2 degrees of freedom, once in a thousand


@pytest.mark.parametrize("key", ["budget", "live", "batch_words", "batch_queries"])
def test_numbers_below_one_are_refused(key: str) -> None:
    with pytest.raises(InputError, match=f"{key} must be >= 1, got 0"):
        engine(**{key: 0}).run(EXAMPLES, HashVictim())


@pytest.mark.parametrize("seed", [-1, 1 << 64])
def test_seeds_that_would_be_taken_for_others_are_refused(seed: int) -> None:
    with pytest.raises(InputError, match=rf"seed must be >= 0 and below 2\*\*64, got {seed}"):
        engine(seed=seed).run(EXAMPLES, HashVictim())
    engine(seed=(1 << 64) - 1).run(EXAMPLES, HashVictim())


def test_the_victim_is_evaluating_while_results_are_drawn() -> None:
    victim = HashVictim()
    run = engine(live=1).run(EXAMPLES, victim)
    assert victim.modes == []
    next(run)
    assert victim.modes == ["on"]
    run.close()
    assert victim.modes == ["on", "off"]

    class Failing(HashVictim):
        def answer(self, text):
            raise ValueError("no answer")

    failing = Failing()
    with pytest.raises(ValueError, match="no answer"):
        list(engine().run(EXAMPLES, failing))
    assert failing.modes == ["on", "off"]


def test_a_sentence_without_attackable_words_is_kept() -> None:
    fixed = example("of the", "IN DT")
    (result,) = engine().run([fixed], TableVictim((1, 1), {}))
    assert (result.words, result.edited, result.success) == (("of", "the"), (), False)
    assert (result.charged, result.unique, sum(result.counted)) == (1, 1, 2)
    assert result.attacked == result.clean


def test_repeated_ids_are_refused() -> None:
    with pytest.raises(ValueError, match="two sentences of the run have the id 0"):
        list(engine().run([EXAMPLES[0], EXAMPLES[0]], HashVictim()))


def test_memory_stays_flat() -> None:
    drawn = 0

    def endless():
        nonlocal drawn
        while True:
            drawn += 1
            yield example("w0 w2", "NN NN", number=drawn)

    run = engine().run(endless(), HashVictim())
    next(run)
    assert drawn == 512
    run.close()
