"""Beam search against a search of one text that keeps lists and never stops early."""

import numpy as np
import pytest
import torch
from torch import Tensor

from robustparse.models.beam_search import beam_search, rows_of
from robustparse.models.semantic.history import History

END, ACTIONS, STEPS = 0, 4, 7
Prefix = tuple[int, ...]


def log_probabilities(text: int, prefix: Prefix) -> np.ndarray:
    """What a model might say of a prefix; it depends on nothing else."""
    rng = np.random.default_rng([text, *(1 + action for action in prefix)])
    logits = 2 * rng.standard_normal(ACTIONS)
    logits[END] += 0.5 * len(prefix) - text % 3  # texts end at different steps
    return logits - np.log(np.exp(logits).sum())


class Tables:
    """A stepper over `log_probabilities`."""

    def __init__(self, texts: int, width: int) -> None:
        self.width = width
        self.texts = [text for text in range(texts) for _ in range(width)]
        self.prefixes: list[Prefix] = [()] * len(self.texts)
        self.rows_read = 0

    @property
    def finished(self) -> Tensor:
        return torch.tensor([END in prefix for prefix in self.prefixes])

    def scores(self) -> Tensor:
        self.rows_read += len(self.texts)
        found = [log_probabilities(*pair) for pair in zip(self.texts, self.prefixes, strict=True)]
        scores = torch.tensor(np.array(found))
        scores[self.finished] = float("-inf")
        scores[self.finished, END] = 0.0
        return scores

    def select(self, rows: Tensor) -> None:
        self.prefixes = [self.prefixes[row] for row in rows.tolist()]
        self.texts = [self.texts[row] for row in rows.tolist()]

    def take(self, actions: Tensor) -> Tensor:
        pairs = zip(self.prefixes, actions.tolist(), strict=True)
        self.prefixes = [one if END in one else (*one, action) for one, action in pairs]
        return torch.zeros(len(actions), dtype=torch.float64)

    def keep(self, texts: Tensor) -> None:
        self.select(rows_of(texts, self.width))

    def answer(self, row: int) -> Prefix:
        return self.prefixes[row]


def by_sum(text: int, width: int) -> tuple[Prefix, float]:
    """Finished hypotheses compete with the others until the last step."""
    beam: list[tuple[float, Prefix]] = [(0.0, ())]
    for _ in range(STEPS):
        extended = [(total, prefix) for total, prefix in beam if END in prefix]
        for total, prefix in beam:
            if END not in prefix:
                scores = log_probabilities(text, prefix)
                extended += [(total + scores[one], (*prefix, one)) for one in range(ACTIONS)]
        beam = sorted(extended, reverse=True)[:width]
    total, prefix = max((END in prefix, total, prefix) for total, prefix in beam)[1:]
    return prefix, total


def by_action(text: int, width: int) -> tuple[Prefix, float]:
    """Finished hypotheses are set aside, with their sums divided by their lengths."""
    beam: list[tuple[float, Prefix]] = [(0.0, ())]
    whole: list[tuple[float, Prefix, float]] = []
    for step in range(1, STEPS + 1):
        extended = []
        for total, prefix in beam:
            scores = log_probabilities(text, prefix)
            extended += [(total + scores[one], (*prefix, one)) for one in range(ACTIONS)]
        best = sorted(extended, reverse=True)[: width - len(whole)]
        whole += [(total / step, prefix, total) for total, prefix in best if prefix[-1] == END]
        beam = [(total, prefix) for total, prefix in best if prefix[-1] != END]
    if not whole:
        return max(beam)[::-1]
    return max(whole)[1:]


@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize(("per_action", "naive"), [(False, by_sum), (True, by_action)])
def test_it_finds_what_a_search_of_one_text_finds(per_action: bool, naive, width: int):
    texts = 60
    stepper = Tables(texts, width)
    answers, scores = beam_search(stepper, texts, width, STEPS, per_action=per_action)
    expected = [naive(text, width) for text in range(texts)]
    assert answers == [prefix for prefix, _ in expected]
    np.testing.assert_allclose(scores.numpy(), [total for _, total in expected], rtol=1e-12)
    assert len({len(one) for one in answers}) > 3
    assert stepper.rows_read < 0.9 * texts * width * STEPS  # texts are dropped


def test_the_two_rules_differ():
    found = [beam_search(Tables(60, 3), 60, 3, STEPS, per_action=one)[0] for one in (True, False)]
    assert 3 < sum(one != other for one, other in zip(*found, strict=True)) < 40


def test_no_steps_are_refused():
    with pytest.raises(ValueError, match="steps"):
        beam_search(Tables(1, 1), 1, 1, 0)


def test_states_of_former_steps_are_those_of_the_own_ancestors():
    rng = np.random.default_rng(0)
    copied = torch.randn(6, 1, 3)
    history = History(copied[:, 0])
    for step in range(1, 40):
        rows = torch.from_numpy(rng.integers(0, len(copied), 6 - step // 13))
        history.select(rows)
        new = torch.randn(len(rows), 3)
        history.append(new)
        copied = torch.cat([copied[rows], new[:, None]], dim=1)
        steps = torch.from_numpy(rng.integers(0, step + 1, len(rows)))
        assert torch.equal(history.at(steps), copied[torch.arange(len(rows)), steps])
