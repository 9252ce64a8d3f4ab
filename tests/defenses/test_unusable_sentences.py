"""Sentences that an attack cannot be made on are refused before training, by file and line."""

from dataclasses import replace
from pathlib import Path

import pytest
import pytorch_lightning as pl

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.training_words import TrainingWords
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.data.datamodule import Augmentation
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.defenses.robustness_evaluation import RobustnessEvaluation
from robustparse.defenses.substitution import SubstitutionAdversary
from robustparse.errors import InputError
from robustparse.types import Example, Sentence
from sample_runs import lexicon_attack, sentences, trained_parser, trainer, write_sample

WITHOUT_TAGS = 3  # the index of such a sentence


def monitor() -> RobustnessEvaluation:
    return RobustnessEvaluation(lexicon_attack(), sentences=9)


def needy_candidates() -> Attack:
    """An attack of which only the candidates go by tags."""
    return Attack(TrainingWords(), Zheng2020(), goal=AttachmentDrop())


def retagged(example: Example, tags: tuple[str, ...]) -> Example:
    """Return a copy with these Penn tags, and with no universal ones."""
    return replace(example, sentence=Sentence(example.sentence.words, (), tags))


def written(path: Path, split: str, untagged: bool) -> str:
    """Nine sentences of a split, one of them without tags if so wished; their file."""
    examples = sentences(9, split)
    if untagged:
        examples[WITHOUT_TAGS] = retagged(examples[WITHOUT_TAGS], ())
    return str(write_sample(path, examples))


@pytest.mark.parametrize(
    ("callback", "unusable"),
    [
        (SubstitutionAdversary(lexicon_attack()), "train"),
        (SubstitutionAdversary(lexicon_attack()), "copies"),
        (SubstitutionAdversary(needy_candidates()), "train"),
        (monitor(), "dev"),
    ],
)
def test_a_sentence_without_tags(callback: pl.Callback, unusable: str, tmp_path: Path) -> None:
    paths = {
        name: written(tmp_path / f"{name}.conllu", "dev" if name == "dev" else "train", False)
        for name in ("train", "dev", "copies")
    }
    split = "dev" if unusable == "dev" else "train"
    written(Path(paths[unusable]), split, untagged=True)
    data = TreebankDataModule(
        train_file=paths["train"],
        dev_file=paths["dev"],
        augmentation=Augmentation([paths["copies"]]),
    )
    before = sentences(WITHOUT_TAGS, split)
    line = 1 + sum(len(example.sentence) + 1 for example in before)
    run = trainer(callback)
    with pytest.raises(InputError, match="no tag for every word") as refused:
        run.fit(trained_parser(), datamodule=data)
    assert (str(refused.value.path), refused.value.line) == (paths[unusable], line)
    assert run.global_step == 0


def test_a_sentence_that_the_parser_cannot_read(tmp_path: Path) -> None:
    """Without validation nothing else asks."""
    data = TreebankDataModule(
        train_file=written(tmp_path / "train.conllu", "train", False),
        dev_file=written(tmp_path / "dev.conllu", "dev", False),
    )
    parser, long = trained_parser(), sentences(9, "dev")[WITHOUT_TAGS].sentence

    def refuse(sentence: Sentence) -> None:
        if sentence.words == long.words:
            raise InputError("too long")

    parser.encoder.check = refuse  # type: ignore[method-assign]
    run = trainer(monitor())
    with pytest.raises(InputError, match=r"dev\.conllu:\d+: .*too long"):
        run.fit(parser, datamodule=data)
    assert run.global_step == 0


def test_tags_that_the_attack_does_not_list_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing would be attacked: every robust score would be the clean one."""
    examples = [
        retagged(example, ("NN0",) * len(example.sentence)) for example in sentences(9, "dev")
    ]
    data = TreebankDataModule(
        train_file=written(tmp_path / "train.conllu", "train", False),
        dev_file=str(write_sample(tmp_path / "dev.conllu", examples)),
    )
    trainer(monitor()).fit(trained_parser(), datamodule=data)
    assert [record.message for record in caplog.records if "no word of the data" in record.message]
