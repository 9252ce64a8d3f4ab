"""How much online word substitution attacks: the share of sentences, the budget, which batches."""

from typing import Any

import numpy as np
import pytest
import torch
from substitution_stage import SENTENCES, Stage, sample_data, spy, tensors_of

from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.goals.goal import Verdict
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.data.treebank_datamodule import TreebankDataModule


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TreebankDataModule:
    return sample_data(tmp_path_factory.mktemp("sample"))


@pytest.mark.parametrize("fraction", [0.2, 0.7])
def test_the_fraction_of_sentences_attacked(data, fraction):
    stage = Stage(data, fraction=fraction)
    asked = spy(stage)
    for epoch in range(100):
        stage.attacked(epoch=epoch)
    total = 100 * SENTENCES
    spread = (total * fraction * (1 - fraction)) ** 0.5
    assert abs(sum(len(ids) for ids, _, _ in asked) - fraction * total) < 4 * spread
    often = np.bincount([id_ for ids, _, _ in asked for id_ in ids], minlength=SENTENCES)
    assert (abs(often - 100 * fraction) < 5 * (100 * fraction * (1 - fraction)) ** 0.5).all()
    assert len({seed for _, seed, _ in asked}) == 100


def test_all_sentences_are_attacked_at_fraction_one(data):
    stage = Stage(data, fraction=1.0)
    asked = spy(stage)
    batch = stage.attacked()
    assert asked[0][0] == list(range(SENTENCES))
    assert len(batch) == SENTENCES
    assert float(batch.weight) == 200.0


@pytest.mark.parametrize("budget", [1, 2, 5])
def test_the_budget_is_respected(data, budget):
    stage = Stage(data, fraction=1.0, budget=budget)
    charged: list[int] = []
    run = stage.adversary.attack.search_runs

    def counting(*arguments: Any, **named: Any) -> list[Any]:
        results = list(run(*arguments, **named))
        charged.extend(result.queries.charged for result in results)
        return results

    stage.adversary.attack.search_runs = counting
    batch = stage.attacked()
    assert len(charged) == SENTENCES
    assert max(charged) == budget
    assert stage.logged["substitution/queries"] == pytest.approx(np.mean(charged))
    assert stage.logged["substitution/changed"] == len(batch) / SENTENCES - 1
    assert (len(batch) > SENTENCES) == (budget > 1)


def test_a_batch_that_is_left_alone_costs_nothing(data):
    stage = Stage(data, fraction=1.0, every=2)
    stage.attacked()
    assert min(stage.logged.values()) > 0
    stage.attacked(index=1)
    assert set(stage.logged.values()) == {0}


@pytest.mark.parametrize("ranking", ["unknown", "random"])
def test_a_budget_that_the_ranking_spends_is_told_once(data, caplog, ranking):
    """Asking about every word first leaves nothing for sentences of as many words as queries."""
    stage = Stage(data, fraction=1.0, budget=3)
    stage.adversary.attack.search = Zheng2020(ranking=ranking)
    for epoch in range(7):  # the fifth is the 200th sentence's
        stage.attacked(epoch=epoch)
    told = [record.message for record in caplog.records]
    assert len(told) == (ranking == "unknown")
    assert all("only 0 of the first 200 sentences drawn changed" in message for message in told)


class Reached(AttachmentDrop):
    """A goal that every parse reaches, the clean one too."""

    def judge(self, *arguments: Any) -> Verdict:
        scores = super().judge(*arguments).scores
        return Verdict(scores, np.ones(len(scores), dtype=np.bool_))


def test_sentences_at_the_goal_as_they_are_cause_no_warning(data, caplog):
    """An untrained classifier answers most texts wrongly, so that there is nothing to change."""
    stage = Stage(data, fraction=1.0)
    stage.adversary.attack.goal = Reached()
    for epoch in range(7):
        assert len(stage.attacked(epoch=epoch)) == SENTENCES
    assert not caplog.records


def test_batches_between_are_left_alone(data):
    stage = Stage(data, every=3)
    sizes = [len(stage.attacked(index=index)) for index in range(7)]
    assert [index for index, size in enumerate(sizes) if size > SENTENCES] == [0, 3, 6]
    untouched, plain = stage.attacked(index=1), stage.batch()
    for name, value in tensors_of(plain).items():
        assert torch.equal(tensors_of(untouched)[name], value)
