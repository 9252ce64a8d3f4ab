"""The command of the equal-compute control of a defense."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from robustparse.cli.control import EqualComputeControl, without_defenses
from robustparse.defenses import (
    ASCC,
    FGM,
    PGD,
    Concatenation,
    FreeLB,
    PerturbationAdversary,
    SubstitutionAdversary,
)
from robustparse.perturbations import Typos
from sample_runs import lexicon_attack


def test_defenses_and_their_options_are_left_out():
    common = ["fit", "--config", "experiment/mr_cnn", "--trust", "my_package"]
    changed = ["--trainer.max_epochs=3", "--data.init_args.augmentation.files", "[c.tsv]"]
    assert without_defenses([*common, "--config=defense/copies", *changed]) == common
    assert without_defenses([*common, "--trainer.max_epochs=3"]) is None


COPIES = "data: {init_args: {augmentation: {files: [copies.conllu]}}}\n"
FGM_OF = "trainer: {callbacks+: [{class_path: robustparse.defenses.FGM}]}\n"
CURVES = "{class_path: robustparse.defenses.RobustnessEvaluation, init_args: {attack: null}}"


@pytest.mark.parametrize(
    ("content", "left_out"),
    [
        (FGM_OF, True),
        (FGM_OF + COPIES, True),
        (COPIES, True),
        ("trainer: {callbacks: [PGD]}", True),
        ("trainer: {callbacks: PGD}", True),
        ("trainer: {callbacks+: {class_path: robustparse.defenses.FGM}}", True),
        (f"trainer: {{callbacks+: [{CURVES}]}}", False),
        ("model: {init_args: {arc_dim: 9}}", False),
        (f"trainer: {{callbacks+: [{{class_path: robustparse.defenses.FGM}}, {CURVES}]}}", None),
        (FGM_OF + "model: {init_args: {arc_dim: 9}}", None),
    ],
)
def test_a_defense_is_known_by_what_it_adds(tmp_path, content, left_out):
    """None: no command, as the file cannot go as a whole, nor stay."""
    own = tmp_path / "mine.yaml"
    own.write_text(content)
    common = ["fit", "--config", "experiment/mr_cnn"]
    expected = {True: common, False: [*common, "--config", str(own)], None: None}[left_out]
    typed = [*common, "--config", str(own), "--config", "defense/fgm"]
    assert without_defenses(typed) == expected


@pytest.mark.parametrize(
    ("adversaries", "steps"),
    [
        ([], 10),
        ([FGM()], 20),
        ([FGM(every=2)], 15),
        ([PGD(steps=3)], 40),
        ([PGD(steps=3, random_start=True)], 50),
        ([PGD(steps=3, random_start=True, mix="adv")], 40),
        ([FreeLB(steps=3)], 30),
        ([ASCC("table.jsonl", steps=3)], 50),
        ([ASCC("table.jsonl", steps=3, every=2)], 30),
        ([SubstitutionAdversary(lexicon_attack(), budget=3)], 20),
        ([SubstitutionAdversary(lexicon_attack(), budget=3, loss="agreement")], 25),
        ([SubstitutionAdversary(lexicon_attack(), budget=3, loss="agreement", every=5)], 13),
        ([PerturbationAdversary([Typos()], mode="replace")], 10),
        ([PerturbationAdversary([Typos()], mode="append"), FGM()], 25),
        ([Concatenation()], 30),
        ([Concatenation(mode="replace")], 20),
    ],
)
def test_steps_follow_from_the_adversaries(tmp_path: Path, capsys, adversaries, steps):
    trainer = SimpleNamespace(
        callbacks=adversaries, estimated_stepping_batches=10, is_global_zero=True
    )
    control = EqualComputeControl(["fit", "--config", "my model.yaml"], tmp_path)
    control.on_train_start(trainer, None)
    command = (tmp_path / "control.txt").read_text().strip()
    assert command.startswith("robustparse fit --config 'my model.yaml' ")
    assert f" --trainer.max_steps {steps} " in command
    assert command.endswith(f"{tmp_path}_control")
    assert command in capsys.readouterr().err
