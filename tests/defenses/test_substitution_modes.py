"""Online word substitution that replaces the originals, with other defenses, and what it costs."""

from typing import Any

import pytest
import torch
from substitution_stage import SENTENCES, Stage, sample_data, tensors_of

from robustparse.data.batch import Batch
from robustparse.data.treebank import TreebankDataModule
from robustparse.defenses.copies.substitution import SubstitutionAdversary
from robustparse.errors import InputError
from sample_runs import lexicon_attack, sentences, trained_parser, trainer, write_sample


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TreebankDataModule:
    return sample_data(tmp_path_factory.mktemp("sample"))


def rows(stage: Stage, batch: Batch) -> list[tuple[int, ...]]:
    """The words of each sentence, as rows of the parser's table."""
    lengths = batch.lengths.tolist()
    return [tuple(words[:n]) for words, n in zip(batch.words.tolist(), lengths, strict=True)]


def test_copies_take_the_places_of_their_originals(data):
    appending = Stage(data, fraction=0.5, seed=5)
    appended = appending.words(appending.attacked(epoch=3))
    stage = Stage(data, fraction=0.5, seed=5, mode="replace")
    before, after = stage.batch(), stage.attacked(epoch=3)
    assert SENTENCES // 4 < len(appended) < SENTENCES
    for name in ("ids", "marks", "lengths", "heads", "labels", "counted", "weight"):
        assert torch.equal(tensors_of(after)[name], tensors_of(before)[name])
    forms = {row: word for word, row in stage.parser.encoder.table._rows.items()}
    for id_, old, new in zip(
        range(SENTENCES), rows(stage, before), rows(stage, after), strict=True
    ):
        if id_ in appended:
            assert tuple(forms[word] for word in new) == appended[id_]
        else:
            assert new == old
    padding = ~after.mask
    assert not after.words[padding].any()


def test_two_that_append_both_work_and_the_second_attacks_originals_only(data):
    stage = Stage(data, fraction=1.0, seed=1)
    batch = stage.attacked()
    first = batch.ids.tolist()[SENTENCES:]
    alone = Stage(data, fraction=1.0, seed=2)
    expected = alone.attacked().ids.tolist()[SENTENCES:]
    stage.adversary.seed = 2
    stage.adversary.on_train_batch_start(stage.trainer, stage.parser, batch, 0)
    assert batch.ids.tolist() == [*range(SENTENCES), *first, *expected]
    assert float(batch.weight) == 300.0  # 1 + 1 + 1 times the words


def test_one_that_replaces_leaves_copies_before_it_alone(data):
    stage = Stage(data, fraction=1.0, seed=1)
    batch = stage.attacked()
    copies = batch.words[SENTENCES:].clone()
    stage.adversary.mode = "replace"
    stage.adversary.on_train_batch_start(stage.trainer, stage.parser, batch, 0)
    assert torch.equal(batch.words[SENTENCES:], copies)
    assert not torch.equal(batch.words[:SENTENCES], stage.batch().words)


def test_two_that_replace_are_refused(data):
    def adversary(mode: Any) -> SubstitutionAdversary:
        return SubstitutionAdversary(lexicon_attack(), budget=1, mode=mode)

    with pytest.raises(InputError, match="several adversaries") as error:
        trainer(adversary("replace"), adversary("replace")).fit(trained_parser(), datamodule=data)
    assert error.value.key == "trainer.callbacks"
    trainer(adversary("replace"), adversary("append"), max_steps=1).fit(
        trained_parser(), datamodule=data
    )


def test_copies_of_an_augmented_corpus_are_attacked_too(data, tmp_path):
    """They are training sentences like others, with ids of their own."""
    path = write_sample(tmp_path / "copies.conllu", sentences(9))
    augmented = TreebankDataModule(
        train_file=data.files["train"], augmented_files=[str(path)], batch_words=400
    )
    stage = Stage(data, fraction=1.0)
    stage.trainer.datamodule = augmented
    stage.adversary.on_fit_start(stage.trainer, stage.parser)
    examples = [*augmented.train_examples, *augmented.augmented_examples]
    stage.numbered = stage.parser.encode(examples)
    batch = stage.attacked(range(SENTENCES + 9))
    copied = set(batch.ids.tolist()[SENTENCES + 9 :])
    assert len(copied & set(range(SENTENCES, SENTENCES + 9))) > 4


def test_its_cost_is_logged_and_in_the_progress_bar(data):
    run = trainer(SubstitutionAdversary(lexicon_attack(), budget=3), max_steps=1)
    run.fit(trained_parser(), datamodule=data)
    for metrics in (run.logged_metrics, run.progress_bar_metrics):
        assert 1 < float(metrics["substitution/queries"]) <= 3
        assert float(metrics["substitution/seconds"]) > 0


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_the_costs_of_several_are_added_up(data, order):
    """One of them skips the second batch."""
    adversaries = [
        SubstitutionAdversary(lexicon_attack(), fraction=1 / every, every=every, budget=2 * every)
        for every in order
    ]
    asked: dict[SubstitutionAdversary, list[int]] = {}

    def listen(adversary: SubstitutionAdversary) -> None:
        make = adversary.attack.search_runs

        def counting(*arguments: Any, **named: Any) -> list[Any]:
            made = list(make(*arguments, **named))
            asked[adversary] = [one.queries.charged for one in made]
            return made

        adversary.attack.search_runs = counting

    for adversary in adversaries:
        listen(adversary)
    data.batch_words = 200
    for steps in (1, 2):
        asked.clear()
        run = trainer(*adversaries, max_steps=steps, log_every_n_steps=1)
        run.fit(trained_parser(), datamodule=data)
        if steps == 2:
            del asked[adversaries[order.index(2)]]
        charged = [queries for each in asked.values() for queries in each]
        logged = float(run.logged_metrics["substitution/queries"])
        assert logged == pytest.approx(sum(charged) / len(charged))
        assert len(asked) == 3 - steps


def test_the_budget_is_twelve_queries_unless_said():
    assert SubstitutionAdversary(lexicon_attack()).attack.budget == 12
    assert SubstitutionAdversary(lexicon_attack(budget=12)).attack.budget == 12


def test_an_attack_with_another_budget_is_refused():
    with pytest.raises(InputError, match="is 12, but the attack has a budget of 99") as error:
        SubstitutionAdversary(lexicon_attack(budget=99))
    assert error.value.key == "substitution adversary: budget"
    assert error.value.remedy == "give 99 as the adversary's budget, or the attack none"
