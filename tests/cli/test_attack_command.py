"""``robustparse attack``: the files and figures, options over the recipe, going on after a stop."""

import json
from pathlib import Path

import pytest
from command_runs import RECIPE, attack_arguments, mistake, stop_after, table

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.training_words import TrainingWords
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.cli.main import main
from robustparse.data.conllu import read_treebank
from robustparse.evaluation.attack_processes import attacked_records
from robustparse.evaluation.attack_sums import AttackSums
from robustparse.evaluation.example_records import read_records
from robustparse.models.load import load
from robustparse.models.victim import ModelVictim, Precision
from robustparse.tasks.dependency import DEPENDENCY
from sample_runs import SPEED, sentences


def summary(folder: Path) -> dict:
    return json.loads((folder / "summary.json").read_text())


def expected_lines(
    made: Path, seed: int, precision: Precision = "32-true", **search: object
) -> list[dict]:
    attack = Attack(
        TrainingWords(sample=5), Zheng2020(**search), [AttackableTags()], goal=AttachmentDrop()
    )
    attack.seed = seed
    data = read_treebank(made / "test.conllu")
    victim = ModelVictim([load(made / "tiny.ckpt")], precision)
    lines = attacked_records(DEPENDENCY, attack, victim, data)
    return sorted(lines, key=lambda line: line["id"])


def test_precision_is_the_victims(made, tmp_path):
    main(attack_arguments(made, tmp_path / "out", "--precision", "bf16-mixed"))
    expected = expected_lines(made, 0, "bf16-mixed")
    assert list(read_records(tmp_path / "out" / "examples.jsonl")) == expected
    assert json.loads((tmp_path / "out" / "run.json").read_text())["precision"] == "bf16-mixed"


def test_files_and_table_are_those_of_the_attack_run_by_itself(made, tmp_path, capsys):
    main(attack_arguments(made, tmp_path / "out", "--seed", 5))
    lines = list(read_records(tmp_path / "out" / "examples.jsonl"))
    assert lines == expected_lines(made, 5)
    assert any(line["success"] for line in lines)
    found, tally = summary(tmp_path / "out"), AttackSums(DEPENDENCY)
    for line in lines:
        tally.add(line)
    for key, value in tally.scores().items():
        assert found[key] == value
    assert (found["attack"], found["seed"]) == ("words", 5)
    assert found["victims"] == [str(made / "tiny.ckpt")]
    captured = capsys.readouterr()
    assert captured.err == ""
    figures = [found[which][name] for which in ("clean", "attacked") for name in ("uas", "las")]
    strict = found["strict_success_rate"]["uas"]
    figures += [found["success_rate"], strict, found["edits_per_sentence"]]
    figures.append(found["queries_per_sentence"]["charged"])
    assert table(captured.out)["out"] == [f"{figure:.1f}" for figure in figures]


def test_its_scores_are_those_of_evaluate(made, tmp_path):
    out = tmp_path / "out"
    main(attack_arguments(made, out))
    for which, data in (
        ("clean", made / "test.conllu"),
        ("attacked", out / "adversarial.conllu"),
    ):
        scores = tmp_path / which
        options = ["--checkpoint", made / "tiny.ckpt", "--data", data, "--out", scores]
        main(["evaluate", *map(str, options)])
        report = json.loads((scores / "scores.json").read_text())
        for name, value in summary(out)[which].items():
            # One sentence's tie may break otherwise in another batch, in single precision.
            assert report[name] == pytest.approx(value, abs=1.0)


def test_options_over_the_recipe(made, tmp_path):
    options = ["--limit", 7, "--attack.search.init_args.gamma", 0.4]
    main(attack_arguments(made, tmp_path, *options))
    assert list(read_records(tmp_path / "examples.jsonl")) == expected_lines(made, 0, gamma=0.4)[:7]
    assert summary(tmp_path)["n_sentences"] == 7
    run = json.loads((tmp_path / "run.json").read_text())
    assert run["settings"]["init_args"]["search"]["init_args"]["gamma"] == 0.4
    assert run["limit"] == 7


def test_the_seed_is_the_recipes_unless_given(made, tmp_path):
    (tmp_path / "five.yaml").write_text(RECIPE + "seed: 5\n")
    recipe = ["--attack", tmp_path / "five.yaml"]
    for name, options, seed in (
        ("recipe", recipe, 5),
        ("option", ["--attack.seed", 5], 5),
        ("both", [*recipe, "--seed", 0], 0),
        ("neither", [], 0),
    ):
        out = tmp_path / name
        main(attack_arguments(made, out, *options))
        assert list(read_records(out / "examples.jsonl")) == expected_lines(made, seed)
        run = json.loads((out / "run.json").read_text())
        assert summary(out)["seed"] == run["seed"] == run["settings"]["init_args"]["seed"] == seed


def test_everything_in_one_configuration_file(made, tmp_path):
    recipe = "".join(f"  {line}\n" for line in RECIPE.splitlines())
    (tmp_path / "all.yaml").write_text(
        f"checkpoint: {made / 'tiny.ckpt'}\ndata: sample\nlimit: 3\nout: {tmp_path / 'out'}\n"
        f"seed: 1\nattack:\n{recipe}"
    )
    main(["attack", "--config", str(tmp_path / "all.yaml")])
    found = summary(tmp_path / "out")
    assert (found["attack"], found["n_sentences"], found["seed"]) == ("zheng2020", 3, 1)
    tokens = [line["tokens"] for line in read_records(tmp_path / "out" / "examples.jsonl")]
    # The seed is that of the sample's grammar too.
    assert tokens != [list(example.sentence.words) for example in sentences(3, "test")]


def test_a_stopped_run_resumes_and_a_finished_one_is_shown_again(
    made, tmp_path, monkeypatch, capsys
):
    main(attack_arguments(made, tmp_path / "whole"))
    expected = table(capsys.readouterr().out)["whole"]
    calls: list[int] = []
    stop_after(5, calls, monkeypatch)
    with pytest.raises(SystemExit, match="130"):
        main(attack_arguments(made, tmp_path / "out"))
    # In whatever batches: a machine with less memory may finish it.
    main(attack_arguments(made, tmp_path / "out", "--attack.batch_words", 50, "--attack.live", 3))
    assert len(calls) == 12
    for name in ("examples.jsonl", "adversarial.conllu", "run.json"):
        ours, theirs = ((tmp_path / folder / name).read_bytes() for folder in ("out", "whole"))
        assert ours == theirs
    capsys.readouterr()
    main(attack_arguments(made, tmp_path / "out"))
    assert table(capsys.readouterr().out)["out"] == expected
    assert len(calls) == 12


@pytest.mark.parametrize("fraction", ["1.0", "0.8"])
def test_a_higher_limit_extends_a_run(fraction, made, tmp_path, capsys, monkeypatch):
    draw, whole, grown = ["--fraction", fraction], tmp_path / "whole", tmp_path / "grown"
    main(attack_arguments(made, whole, *draw, "--limit", 8))
    main(attack_arguments(made, grown, *draw, "--limit", 3))
    with monkeypatch.context() as stopped:
        stop_after(2, [], stopped)
        with pytest.raises(SystemExit):  # killed before the new summary, it keeps no old one
            main(attack_arguments(made, grown, *draw, "--limit", 8))
    assert not (grown / "summary.json").exists()
    main(attack_arguments(made, grown, *draw, "--limit", 8))
    for name in ("examples.jsonl", "adversarial.conllu", "run.json"):
        assert (grown / name).read_bytes() == (whole / name).read_bytes()
    ours, theirs = summary(grown), summary(whole)
    assert {key for key in ours if ours[key] != theirs[key]} <= SPEED
    assert "limit: 8 there, 7 here" in mistake(
        capsys, *attack_arguments(made, grown, *draw, "--limit", 7)
    )
    seed = attack_arguments(made, grown, *draw, "--seed", 1)
    assert "seed: 0 there, 1 here" in mistake(capsys, *seed)


def test_the_folder_of_another_run_is_refused(made, tmp_path, capsys):
    main(attack_arguments(made, tmp_path))
    for options, says in (
        (["--seed", 1], "seed: 0 there, 1 here"),
        (["--limit", 3], "limit: None there, 3 here"),
        (["--data", "sample"], "there, 'sample' here"),
        (
            ["--attack.goal.init_args.metric", "las"],
            "settings.init_args.goal.init_args.metric: 'uas' there, 'las' here",
        ),
    ):
        error = mistake(capsys, *attack_arguments(made, tmp_path, *options))
        assert f"{tmp_path}: holds another run" in error
        assert says in error
