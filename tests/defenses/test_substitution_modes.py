"""Online word substitution that replaces the originals or asks for agreement, and what it costs.

Agreement is compared with its loss written out, in float64.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from decisions_by_hand import CASES, answers, close, divergences
from gradient_by_hand import Recorder, with_sgd
from substitution_stage import CHEAP, SENTENCES, Stage, sample_data, tensors_of

from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.data.batch import Batch
from robustparse.data.datamodule import Augmentation, Batches, DataModule
from robustparse.data.text_datamodule import TextDataModule
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.data.utterances.forms import LogicalFormDataModule
from robustparse.data.vocab import Vocabulary
from robustparse.defenses import FGM
from robustparse.defenses.substitution import SubstitutionAdversary
from robustparse.errors import InputError
from robustparse.models import LSTMEncoder, Model
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.tasks.classification import CLASSIFICATION
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.tasks.task import Task
from robustparse.types import Example
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
        train_file=data.files["train"],
        augmentation=Augmentation([str(path)]),
        batches=Batches(words=400),
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
    data.batches = Batches(words=200)
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
    with pytest.raises(InputError, match="got 12, but the attack has a budget of 99") as error:
        SubstitutionAdversary(lexicon_attack(budget=99))
    assert error.value.key == "substitution adversary: budget"
    assert error.value.remedy == "give 99 as the adversary's budget, or the attack none"


# Agreement

TABLE = SubstitutionTable(
    {"the": ("a", "dog", "this"), "cats": ("dogs", "sawing"), "saw": ("zebra", "the")}
)
BETA = 1.3


def agreeing(**settings: Any) -> SubstitutionAdversary:
    return SubstitutionAdversary(lexicon_attack(CHEAP), **{"loss": "agreement", **settings})


def substituted(example: Example, which: int) -> Example:
    """The example with a substitute for each word that has one."""
    words = [(TABLE.of(word) or [word] * 2)[which] for word in example.sentence.words]
    return replace(example, sentence=replace(example.sentence, words=tuple(words)))


def data_of(folder: Path, task: Task, texts: Sequence[Example]) -> DataModule:
    """Two batches of two texts each."""
    path = folder / f"tiny-train{'.conllu' if task is DEPENDENCY else '.tsv'}"
    path.write_text("".join(map(task.files.write, texts)), encoding="utf-8")
    module = {DEPENDENCY: TreebankDataModule, CLASSIFICATION: TextDataModule}
    made = module.get(task, LogicalFormDataModule)(
        train_file=str(path), batches=Batches(words=12, texts=2)
    )
    made.train_examples = list(texts)
    return made


class Kept(pl.Callback):
    """Keeps the ids of every batch."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []

    def on_train_batch_start(self, trainer: Any, model: Any, batch: Batch, *_: Any) -> None:
        self.batches.append(batch.ids.tolist())


@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_gradients_of_agreement_are_those_written_out(name, accumulate, tmp_path):
    """Texts and copies are read alone there, and in padded batches here."""
    make, texts, decide = CASES[name]
    model = with_sgd(make())
    by_hand, data = copy.deepcopy(model), data_of(tmp_path, model.task, texts())
    adversary, kept, recorder = agreeing(fraction=1.0, beta=BETA), Kept(), Recorder()
    copies = {id_: substituted(data.train_examples[id_], id_ % 2) for id_ in (0, 1, 3)}
    adversary.copies = lambda _, __, chosen, ___: [
        copies[each.id] for each in chosen if each.id in copies
    ]
    run = trainer(adversary, kept, recorder, accumulate_grad_batches=accumulate, max_steps=1)
    run.fit(model, datamodule=data)
    total = torch.zeros((), dtype=torch.float64)
    assert len(kept.batches) == accumulate
    for ids in kept.batches:
        sums, apart = torch.zeros_like(total), torch.zeros_like(total)
        for example in (data.train_examples[id_] for id_ in ids):
            batch = by_hand.encode([example]).batch([0], 1.0)
            sums = sums + by_hand.loss(by_hand(batch), batch)[0]
            if example.id in copies:
                pair = (answers(by_hand, each, decide) for each in (example, copies[example.id]))
                apart = apart + sum(divergences(*pair))
        words = sum(len(data.train_examples[id_].sentence) for id_ in ids)
        weight = len(ids) if by_hand.unit == "texts" else words
        total = total + (sums + BETA * apart) / weight / accumulate
        agreed = float((apart / weight).detach())
    total.backward()
    for parameter, weight in by_hand.named_parameters():
        close(recorder.gradients[0][parameter], weight.grad)
    assert float(run.callback_metrics["train/agreement"]) == pytest.approx(agreed, rel=1e-6)
    assert agreed > 0
    assert model.objective is None


def test_a_copy_is_read_with_the_dropout_masks_of_its_text(data):
    """A copy of the text itself agrees with it."""
    stage = Stage(data, fraction=1.0, loss="agreement")
    batch = stage.batch()
    stage.adversary.put(stage.trainer, stage.parser, batch, stage.batch(range(5)))
    stage.trainer.world_size = 1
    torch.manual_seed(3)
    losses = stage.parser.objective(stage.parser(batch), batch)
    stage.adversary.on_train_batch_end(stage.trainer, stage.parser, None)
    assert float(stage.logged["train/agreement"]) == pytest.approx(0.0, abs=1e-12)
    torch.manual_seed(3)
    assert torch.equal(losses, stage.parser.loss(stage.parser(batch), batch))
    assert stage.parser.objective is None


def test_batches_without_copies_are_trained_clean(data):
    stage = Stage(data, fraction=1.0, every=2, loss="agreement")
    before = tensors_of(stage.batch())
    for index in (0, 1):
        after = tensors_of(stage.attacked(index=index))
        assert all(torch.equal(after[name], value) for name, value in before.items())
        assert (stage.parser.objective is None) == (index == 1)
        stage.adversary.on_train_batch_end(stage.trainer, stage.parser, None)
        assert stage.parser.objective is None
    assert stage.logged["train/agreement"] == 0.0


def test_agreement_in_mixed_precision_with_copies_of_another_adversary(data):
    data.batches = Batches(words=200)
    ends = []
    for precision in ("32-true", "bf16-mixed"):
        parser = trained_parser().float()
        appending = SubstitutionAdversary(lexicon_attack(CHEAP), seed=2)
        agreeing = SubstitutionAdversary(lexicon_attack(CHEAP), seed=1, loss="agreement")
        run = trainer(agreeing, appending, precision=precision, max_steps=2)
        run.fit(parser, datamodule=data)
        ends.append(torch.cat([weight.flatten() for weight in parser.parameters()]))
        assert torch.isfinite(ends[-1]).all()
        assert float(run.callback_metrics["train/agreement"]) > 0
    assert not torch.equal(*ends)
    assert (ends[0] - ends[1]).abs().max() < 0.02


class Silent(BiaffineParser):
    """Tells no distributions."""

    decisions = Model.decisions


def silent() -> Model:
    known = Vocabulary.from_examples(sentences(SENTENCES))
    return Silent(LSTMEncoder(5, 0, hidden=6), vocabulary=known)


def copying() -> Model:
    parser = trained_parser()
    parser.uncoded = lambda _: {"austin"}
    return parser


@pytest.mark.parametrize(
    ("make", "others", "key"),
    [
        (silent, [], "substitution adversary: model"),
        (copying, [], "substitution adversary: model"),
        (trained_parser, [FGM()], "trainer.callbacks"),
        (trained_parser, [agreeing()], "trainer.callbacks"),
        (trained_parser, [agreeing(loss="gold", mode="replace")], "trainer.callbacks"),
    ],
)
def test_what_agreement_cannot_be_combined_with(data, make, others, key):
    with pytest.raises(InputError) as error:
        trainer(agreeing(), *others).fit(make(), datamodule=data)
    assert error.value.key == key


@pytest.mark.parametrize(
    ("setting", "settings"),
    [
        ("loss", {"loss": "kl"}),
        ("beta", {"beta": 0.0}),
        ("beta", {"beta": float("inf")}),
        ("mode", {"mode": "replace"}),
    ],
)
def test_settings_of_agreement_out_of_range(setting, settings):
    with pytest.raises(InputError) as error:
        agreeing(**settings)
    assert error.value.key == f"substitution adversary: {setting}"
