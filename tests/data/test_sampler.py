"""Properties of the plan: every sentence once, the same for any number of processes, resumable."""

import numpy as np
import pytest
from numpy.typing import NDArray
from test_batch import numbered

from robustparse.data.batch import Batch
from robustparse.data.sampler import (
    MIN_SENTENCES,
    TrainingLoader,
    plan_batches,
)
from robustparse.errors import InputError


def random_lengths(seed: int) -> NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    return rng.integers(1, [6, 20, 60][seed % 3], size=int(rng.integers(1, 200)))


CASES = [(random_lengths(seed), words) for seed in range(9) for words in (60, 100, 400)]
# Where the last batch cannot be filled up, where it is filled exactly, and single batches.
CASES += [
    (np.array([5] * 5), 10),
    (np.array([5] * 3), 5),
    (np.array([9, 9, 9, 1]), 18),
    (np.array([1] * 33), 17),
    (np.array([3]), 3),
]


def ids(batches: list[Batch]) -> list[int]:
    return [id_ for batch in batches for id_ in batch.ids.tolist()]


def place(loader: TrainingLoader) -> tuple[int, int]:
    state = loader.state_dict()
    return state["epoch"], state["position"]


@pytest.mark.parametrize(("lengths", "limit"), CASES)
def test_every_sentence_stands_in_one_batch_within_the_limit(lengths, limit):
    for epoch in range(3):
        plan = plan_batches(lengths, limit, seed=5, epoch=epoch)
        assert sorted(np.concatenate(plan).tolist()) == list(range(len(lengths)))
        assert all(len(batch) for batch in plan)
        assert max(lengths[batch].sum() for batch in plan) <= limit


@pytest.mark.parametrize(("lengths", "limit"), CASES)
def test_the_number_and_lengths_of_batches_never_change(lengths, limit):
    plans = [plan_batches(lengths, limit, 5, epoch) for epoch in range(6)]
    shapes = [sorted(sorted(lengths[batch].tolist()) for batch in plan) for plan in plans]
    assert all(shape == shapes[0] for shape in shapes)


def test_plans_follow_from_seed_and_epoch():
    lengths = random_lengths(1)

    def plan(seed: int, epoch: int) -> list[list[int]]:
        return [batch.tolist() for batch in plan_batches(lengths, 60, seed, epoch)]

    assert plan(5, 2) == plan(5, 2)
    assert plan(5, 2) != plan(5, 3)
    assert plan(5, 2) != plan(6, 2)
    # Both the order of the batches and their content differ.
    assert {frozenset(b) for b in plan(5, 2)} != {frozenset(b) for b in plan(5, 3)}


def test_global_random_state_plays_no_part():
    lengths = random_lengths(1)
    np.random.seed(1)
    state = np.random.get_state()[1].copy()
    first = plan_batches(lengths, 60, 0, 0)
    assert np.array_equal(np.random.get_state()[1], state)
    np.random.seed(2)
    assert all(map(np.array_equal, first, plan_batches(lengths, 60, 0, 0)))


def test_little_padding():
    lengths = random_lengths(8)
    plan = plan_batches(lengths, 400, 0, 0)
    padded = sum(len(batch) * lengths[batch].max() for batch in plan)
    assert padded < 1.25 * lengths.sum()


def test_pairs_are_sorted_by_their_contexts_first():
    """Both texts of a pair are read, and the context is the longer one as a rule."""
    rng = np.random.default_rng(0)
    lengths, contexts = rng.integers(1, 16, 1000), rng.integers(1, 40, 1000)
    by_text = plan_batches(lengths, 400, 0, 0, 32)
    by_context = plan_batches(lengths, 400, 0, 0, 32, contexts)

    def padded(plan: list[NDArray[np.int64]]) -> int:
        return sum(len(batch) * (lengths[batch].max() + contexts[batch].max()) for batch in plan)

    assert padded(by_context) < 0.8 * padded(by_text)
    assert sorted(np.concatenate(by_context).tolist()) == list(range(1000))
    assert max(lengths[batch].sum() for batch in by_context) <= 400
    same = plan_batches(lengths, 400, 0, 0, 32, np.zeros_like(lengths))
    assert all(map(np.array_equal, by_text, same))


def test_a_last_batch_of_long_texts_is_filled_up_within_its_words():
    lengths, contexts = np.array([1] * 40 + [60]), np.array([9] * 40 + [1])
    plan = plan_batches(lengths, 61, 0, 0, contexts=contexts)
    assert sorted(len(batch) for batch in plan) == [2, 39]


def test_a_short_last_batch_is_filled_up():
    def sizes(lengths: list[int], limit: int) -> list[int]:
        return sorted(len(batch) for batch in plan_batches(np.array(lengths), limit, 0, 0))

    assert sizes([1] * 101, 100) == [MIN_SENTENCES, 101 - MIN_SENTENCES]
    assert sizes([2] * 50 + [1] * 20, 100) == [20, 50]  # long enough as it is
    assert sizes([5] * 21, 100) == [10, 11]  # half of what both have
    assert sizes([20] * 5 + [3], 100) == [3, 3]


def test_a_sentence_over_the_limit_is_refused():
    with pytest.raises(InputError, match=r"batches\.words: 9, and sentence 3 has 10 words"):
        plan_batches(np.array([3, 4, 10]), 9, 0, 0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("epoch", [0, 3])
def test_content_does_not_depend_on_the_number_of_processes(seed, epoch):
    data = numbered(random_lengths(3 * seed + 1).tolist())
    plan = plan_batches(data.lengths, 100, seed, epoch)
    for world_size in (1, 2, 3):
        loaders = [TrainingLoader(data, 100, seed, rank, world_size) for rank in range(world_size)]
        for loader in loaders:
            loader.sampler.set_epoch(epoch)
        shares = [list(loader) for loader in loaders]
        assert {len(share) for share in shares} == {len(plan)} == {len(loaders[0])}
        for step, batch in enumerate(plan):
            parts = [share[step] for share in shares]
            assert sorted(ids(parts)) == sorted(data.ids[batch].tolist())
            assert {part.weight.item() for part in parts} == {float(data.lengths[batch].sum())}
            assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_more_processes_than_sentences_in_a_batch_are_refused():
    data = numbered([9, 9, 9, 9])
    assert len(TrainingLoader(data, 18, 0, 0, 2)) == 2
    with pytest.raises(InputError, match=r"fewer sentences than there are processes \(3\)"):
        TrainingLoader(data, 18, 0, 0, 3)


@pytest.mark.parametrize("world_size", [1, 2])
def test_training_resumes_from_every_position(world_size):
    data = numbered(random_lengths(5).tolist())
    loader = TrainingLoader(data, 200, 7, world_size - 1, world_size)
    loader.sampler.set_epoch(4)
    whole = [batch.ids.tolist() for batch in loader]
    assert len(whole) > 5
    for stop in range(len(whole)):
        stopped = TrainingLoader(data, 200, 7, world_size - 1, world_size)
        stopped.sampler.set_epoch(4)
        iterator = iter(stopped)
        begun = [next(iterator).ids.tolist() for _ in range(stop)]
        resumed = TrainingLoader(data, 200, 7, world_size - 1, world_size)
        resumed.load_state_dict(stopped.state_dict())
        if stop:
            assert place(resumed) == place(stopped) == (4, stop)
        else:  # nothing handed out yet: Lightning sets the epoch
            resumed.sampler.set_epoch(4)
        assert begun + [batch.ids.tolist() for batch in resumed] == whole
        # The place to resume from holds for one epoch only.
        assert [batch.ids.tolist() for batch in resumed] == whole


def test_another_number_of_processes_resumes():
    data = numbered(random_lengths(5).tolist())
    two = TrainingLoader(data, 200, 7, 0, 2)
    two.sampler.set_epoch(4)
    begun = next(iter(two))
    for rank in range(3):
        loader = TrainingLoader(data, 200, 7, rank, 3)
        loader.load_state_dict(two.state_dict())
        loader.load_state_dict(two.state_dict())  # Lightning and the parser do so
        assert place(loader) == (4, 1)
    one = TrainingLoader(data, 200, 7)
    one.load_state_dict(two.state_dict())
    assert set(begun.ids.tolist()).isdisjoint(ids(list(one)))


def test_another_number_of_processes_is_refused_where_it_must_be_the_same():
    data = numbered(random_lengths(5).tolist())
    state = TrainingLoader(data, 200, 7, 0, 2).state_dict()
    for rank in range(2):
        same = TrainingLoader(data, 200, 7, rank, 2, allow_world_size_change=False)
        same.load_state_dict(state)
    with pytest.raises(InputError, match="trained with 2 processes, now there are 1, for which"):
        TrainingLoader(data, 200, 7, allow_world_size_change=False).load_state_dict(state)


def test_a_finished_epoch_resumes_with_the_whole_next():
    data = numbered(random_lengths(5).tolist())
    loader = TrainingLoader(data, 200, 7)
    assert len(list(loader)) == len(loader)
    assert place(loader) == (0, 0)
    resumed = TrainingLoader(data, 200, 7)
    resumed.load_state_dict(loader.state_dict())
    resumed.sampler.set_epoch(1)
    assert sorted(ids(list(resumed))) == sorted(data.ids.tolist())


def test_the_state_is_set_between_making_and_using_an_iterator():
    data = numbered(random_lengths(5).tolist())
    plain = TrainingLoader(data, 200, 7)
    plain.sampler.set_epoch(2)
    late = TrainingLoader(data, 200, 7)
    iterator = iter(late)
    late.load_state_dict({**plain.state_dict(), "epoch": 2, "position": 3})
    assert ids(list(iterator)) == ids(list(plain)[3:])


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ((numbered([5] * 39), 100, 7), "with texts 40, now it is 39"),
        ((numbered([5] * 40), 99, 7), "with batch_words 100, now it is 99"),
        ((numbered([5] * 40), 100, 8), "with seed 7, now it is 8"),
    ],
)
def test_a_state_of_other_batches_is_refused(other, message):
    state = TrainingLoader(numbered([5] * 40), 100, 7).state_dict()
    TrainingLoader(numbered([5] * 40), 100, 7).load_state_dict(state)
    with pytest.raises(InputError, match=message):
        TrainingLoader(*other).load_state_dict(state)


def test_a_state_of_other_texts_is_refused():
    def loader(words: str, answers: str = "c", seed: int = 0) -> TrainingLoader:
        return TrainingLoader(numbered([5] * 40, seed), 100, 7, words=words, answers=answers)

    state = loader("a").state_dict()
    loader("a").load_state_dict(state)
    loader("a", seed=1).load_state_dict(state)  # numbers that something else gave
    with pytest.raises(
        InputError, match="trained on other texts or tags, though on as many; resume"
    ):
        loader("b").load_state_dict(state)
    with pytest.raises(InputError, match="on other gold answers of its texts"):
        loader("a", "d").load_state_dict(state)


@pytest.mark.parametrize("texts", [1, 3, 7])
def test_batches_may_be_limited_in_texts_and_weigh_what_the_unit_counts(texts):
    data = numbered(random_lengths(4).tolist())
    plan = plan_batches(data.lengths, 200, 7, 0, texts)
    assert max(map(len, plan)) == texts
    assert max(data.lengths[batch].sum() for batch in plan) <= 200
    assert sorted(np.concatenate(plan).tolist()) == list(range(len(data)))
    loader = TrainingLoader(data, 200, 7, unit="texts", batch_texts=texts)
    assert [float(batch.weight) for batch in loader] == [len(batch) for batch in plan]
    assert [int(batch.lengths.sum()) for batch in TrainingLoader(data, 200, 7)] == [
        int(batch.weight) for batch in TrainingLoader(data, 200, 7)
    ]
