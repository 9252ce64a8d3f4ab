"""The studies of TextFooler: ablations, adversaries of test texts, every corpus in one command."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import study
from studies import STUDIES

HERE = study.Inputs(Path("corpus"), "mlm", "encoder", "vectors.txt")


def test_ablations_of_textfooler_and_adversaries_of_test_texts(tmp_path: Path) -> None:
    inputs = replace(HERE, similarity="sentences", word_vectors="words.txt")
    rows = STUDIES["jin2020_mr"].elsewhere(tmp_path, None).rows
    recipes = {}
    for row in rows[0], *rows[-3:]:
        command = study.attack_command(row, inputs)
        recipes[row.attack] = yaml.safe_load(Path(command[2]).read_text())
    whole, drawn, every, unfiltered = recipes.values()
    random = ["textfooler_random_17", "textfooler_random_100"]
    assert list(recipes) == ["textfooler", *random, "textfooler_2_filters"]
    assert whole["constraints"][-1]["init_args"]["model"] == "sentences"
    assert unfiltered["constraints"] == whole["constraints"][:3]
    ranking = drawn["search"]["init_args"].pop("ranking")
    assert ranking["class_path"] == "robustparse.attacks.RandomOrder"
    assert ranking["init_args"] == {"fraction": 0.167}
    assert every["search"]["init_args"]["ranking"]["init_args"] == {"fraction": 1.0}
    assert whole["search"]["init_args"].items() >= drawn["search"]["init_args"].items()
    assert [study.compares_sentences(row) for row in (rows[0], *rows[-2:])] == [True, True, False]

    copies = [row.copies for row in STUDIES["jin2020_mr_training"].rows if row.copies]
    assert [one.path.name for one in copies] == ["copies_50.tsv", "copies_30_test.tsv"]
    assert copies[1].share == STUDIES["jin2020_mr_training"].share


def test_the_study_of_textfooler_is_of_every_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []
    monkeypatch.setattr(study, "measure", lambda *one: asked.append(one))
    command = ["study.py", "--study", "jin2020", "--folder", "corpora", "--home", str(tmp_path)]
    monkeypatch.setattr("sys.argv", command)
    with pytest.raises(SystemExit):
        study.main()
    assert "needs --masked_lm, --encoder, --vectors" in capsys.readouterr().err
    names = ("masked_lm", "encoder", "vectors", "word_vectors", "similarity")
    given = [part for name in names for part in (f"--{name}", "there")]
    monkeypatch.setattr("sys.argv", [*command, *given])
    study.main()
    folders = {name: inputs.folder for name, _, inputs, _ in asked}
    corpora = ("mr", "ag", "snli", "mnli", "mr_training", "snli_training")
    assert folders == {
        f"jin2020_{name}": Path("corpora") / name.removesuffix("_training") for name in corpora
    }
    assert {one.home for _, one, *_ in asked} == {tmp_path}
    out = capsys.readouterr().out
    assert [line[:-1] for line in out.splitlines() if line.endswith(":")] == list(folders)
