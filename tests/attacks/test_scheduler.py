"""The scheduler: queries are counted as stated, batches are full, victims are left as found."""

from collections.abc import Sequence

import numpy as np
import pytest
from attack_fakes import HashVictim, TableVictim, corpus, example, right_heads
from search_fakes import Climb

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.problem import Problem
from robustparse.attacks.search.beam import Greedy
from robustparse.attacks.search.importance import GreedyByImportance
from robustparse.attacks.search.rankings import DeletedWord, GradientNorm
from robustparse.attacks.search.requests import Answer, Predict, Score, Search, Searching
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.errors import InputError
from robustparse.types import TextRows

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


def test_repeats_are_charged_but_parsed_once() -> None:
    victim = HashVictim()
    results = list(engine(Climb()).run(EXAMPLES, victim))
    assert sum(result.charged for result in results) > 2 * sum(result.unique for result in results)
    assert len(victim.texts) == sum(result.unique for result in results) + len(EXAMPLES)


def test_a_search_that_asks_on_is_refused() -> None:
    class Deaf(Search):
        def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching:
            while True:
                yield Score(problem.start()[None])

    with pytest.raises(RuntimeError, match="asked for more after its budget"):
        list(engine(Deaf(), budget=3).run(EXAMPLES[:1], HashVictim()))
    # Where the clean parse has spent the budget, the search does not begin.
    (result,) = engine(Deaf(), budget=1).run(EXAMPLES[:1], HashVictim())
    assert (result.charged, result.edited) == (1, ())


class Reader(Search):
    """Asks for predictions of the original, a few times in one request, until the budget is spent.

    Args:
        count: how often a request repeats the original.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.heads: list[list[int]] = []

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching:
        while True:
            answer = yield Predict(np.repeat(problem.start()[None], self.count, axis=0))
            heads, _ = answer.predictions
            assert len(heads) == len(answer.states)
            self.heads += heads.tolist()
            if answer.over:
                return problem.start()


def test_predictions_are_charged_and_cut_to_the_budget() -> None:
    search, victim = Reader(3), HashVictim()
    (result,) = engine(search, budget=8).run(EXAMPLES[:1], victim)
    assert (result.charged, len(search.heads)) == (8, 7)  # the clean prediction is query 1
    expected, _ = victim.answer(EXAMPLES[0].sentence.words)
    assert search.heads == [list(expected)] * 7


@pytest.mark.parametrize("given", [{"batch_words": 600}, {}], ids=["given", "by_the_victim"])
def test_batches_hold_similar_lengths_within_the_limits(given: dict[str, int]) -> None:
    class Watchful(HashVictim):
        batch_words = 16384 if given else 600

        def predict(self, texts: TextRows):
            words, _, lengths = texts
            padding = words.size - lengths.sum()
            assert len(lengths) == 1 or (words.size <= 600 and padding <= 600 // 16)
            assert len(lengths) <= 30
            return super().predict(texts)

    statistics = Statistics()
    results = list(engine(**given, batch_queries=30).run(EXAMPLES, Watchful(), statistics))
    assert statistics.texts == sum(result.unique + 1 for result in results)
    assert statistics.texts / statistics.forwards > 15


def test_the_share_of_time_comes_from_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of predictions and gradients, each of which takes a second here, and nothing else does."""
    clock = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])

    class Slow(HashVictim):
        def predict(self, *given):
            clock[0] += 1
            return super().predict(*given)

        def gradient(self, *given):
            clock[0] += 1
            return super().gradient(*given)

    for search in (Greedy(), GreedyByImportance(GradientNorm())):
        statistics = Statistics()
        list(engine(search).run(EXAMPLES, Slow(), statistics))
        assert statistics.victim_seconds == statistics.seconds >= statistics.forwards
        assert (statistics.seconds > statistics.forwards) == isinstance(search, GreedyByImportance)


@pytest.mark.parametrize("key", ["budget", "live", "batch_words", "batch_queries"])
def test_numbers_below_one_are_refused(key: str) -> None:
    with pytest.raises(InputError, match=f"{key} must be >= 1, got 0"):
        engine(**{key: 0}).run(EXAMPLES, HashVictim())


@pytest.mark.parametrize("seed", [-1, 1 << 64])
def test_seeds_that_would_be_taken_for_others_are_refused(seed: int) -> None:
    with pytest.raises(InputError, match=rf"seed must be >= 0 and below 2\*\*64, got {seed}"):
        engine(seed=seed).run(EXAMPLES, HashVictim())
    engine(seed=(1 << 64) - 1).run(EXAMPLES, HashVictim())


def test_the_victim_is_evaluating_while_a_result_is_computed() -> None:
    class Watched(HashVictim):
        def answer(self, text):
            assert self.modes[-1] == "on"
            return super().answer(text)

    victim = Watched()
    run = engine(live=1).run(EXAMPLES, victim)
    assert victim.modes == []
    for _ in run:
        assert victim.modes[-1] == "off"
    assert victim.modes == ["on", "off"] * (1 + len(EXAMPLES))

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


def test_gradients_of_a_closed_victim_are_refused() -> None:
    search = GreedyByImportance(GradientNorm())
    attack = Attack(Lexicon({}), search, goal=AttachmentDrop())
    with pytest.raises(InputError, match="needs gradients, which TableVictim does not have"):
        list(attack.run([example("a b", "NN NN")], TableVictim((0, 1), {})))


class Wavering(TableVictim):
    """Rounds otherwise when it is asked again."""

    def answer(self, text: tuple[str, ...]) -> tuple[Sequence[int], Sequence[int]]:
        heads, labels = super().answer(text)
        return (heads if len(self.batches) == 1 else [0] * len(heads)), labels


def test_an_unchanged_sentence_is_no_adversary() -> None:
    attack = Attack(Lexicon({}), Greedy(), goal=AttachmentDrop())
    (result,) = attack.run([example("a b", "NN NN", (0, 1))], Wavering((0, 1), {}))
    assert right_heads(result) == (2, 1)
    assert (result.edited, result.success) == ((), False)
