"""The studies: names that tell rows apart, recipes with the machine's files, sentences drawn."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import study
from robustparse.data.conllu import block_of, read_treebank, write_treebank
from robustparse.data.sample import sample_treebank
from robustparse.types import DependencyTree, Sentence
from studies import RESULTS, STUDIES, result
from study_tables import kept, minutes, table

HERE = study.Inputs(Path("treebank"), "mlm", "encoder", "vectors.txt")


def test_no_two_rows_share_a_file() -> None:
    kept_in = [result(name, *case) for name in STUDIES for case in STUDIES[name].cases]
    assert len(set(kept_in)) == len(kept_in)
    for one in STUDIES.values():
        folders = [one.attacked(*case) for case in one.cases]
        assert len(set(folders)) == len(folders)


def test_every_figure_belongs_to_a_row_and_every_row_to_the_table() -> None:
    known = {result(name, *case) for name in STUDIES for case in STUDIES[name].cases}
    assert set(RESULTS.glob("*.json")) <= known
    for name in STUDIES:
        assert len(table(name).splitlines()) == 2 + len(kept(name))


def test_a_run_that_was_stopped_has_no_time() -> None:
    assert minutes({"training_seconds": 90.0}) == "1.5"
    assert minutes({"training_seconds": None}) == "-"


def test_recipes_get_the_machines_files() -> None:
    names = {"bert-base-uncased", "counter-fitted-vectors.txt"}
    row = next(row for row, _ in STUDIES["wang2021_filters"].cases if row.filters == 2)
    shipped = (study.ROOT / "configs" / "attack" / f"{row.recipe}.yaml").read_text()
    assert all(name in shipped for name in names)
    recipe = study.with_files(yaml.safe_load(shipped), HERE)
    assert not any(name in yaml.safe_dump(recipe) for name in names)
    mlm, near = (recipe["candidates"]["init_args"]["generators"][place] for place in (2, 1))
    assert mlm["init_args"]["generator"]["init_args"] == {
        "model": "mlm",
        "top_k": 100,
        "sample": 50,
    }
    assert near["init_args"] == {"vectors": "vectors.txt", "k": 50}


def test_a_rows_recipe_has_its_filters_and_budget(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("studies.ROOT", tmp_path)
    rows = [row for row, _ in STUDIES["wang2021_filters"].cases]
    for row in rows:
        command = study.attack_command(row, HERE, 0.1)
        path = Path(command[command.index("--attack") + 1])
        assert path.is_relative_to(tmp_path)
        recipe = yaml.safe_load(path.read_text())
        assert recipe["search"]["init_args"]["gamma"] == 0.1
        assert len(recipe["constraints"]) == 1 + row.filters
    assert [row.filters for row in rows] == [0, 1, 2, 3]


def test_sentences_are_drawn_once_and_long_enough(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(study, "ROOT", tmp_path)
    examples = sample_treebank().test
    short = Sentence(("No", "."))
    blocks = [block_of(example.sentence, example.gold) for example in examples[:30]]
    blocks[1:1] = [block_of(short, DependencyTree((0, 1), ("root", "punct")))] * 30
    write_treebank(tmp_path / "x-test.conllu", blocks)
    inputs = study.Inputs(tmp_path, "", "", "")
    some = study.Study((), sentences=20)
    name, path = study.sentences_of(some, inputs)
    first = [example.sentence.words for example in read_treebank(path)]
    assert (name, len(first)) == ("--data", 20)
    assert min(map(len, first)) >= 5
    study.sentences_of(some, inputs)
    assert [example.sentence.words for example in read_treebank(path)] == first


def test_rows_are_trained_by_what_is_there() -> None:
    """Their configurations, and copies of a parser whose own row comes first."""
    for one in STUDIES.values():
        for place, (row, _) in enumerate(one.cases):
            assert all(path.is_file() for path in row.config_files), row.name
            assert isinstance(row.title, str)
            if row.copies is not None and one.sentences is not None:
                assert row.copies.of.name in {other.name for other, _ in one.cases[:place]}


def test_a_defense_is_trained_from_its_clean_parser_in_the_same_time(
    tmp_path: Path, monkeypatch
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr("studies.ROOT", tmp_path)
    monkeypatch.setattr(study, "find_split", lambda folder, split: folder / f"{split}.conllu")
    monkeypatch.setattr(study, "run", lambda command: commands.append(command) or 1.0)
    (tmp_path / "configs").symlink_to(study.ROOT / "configs")
    rows = {row.name: row for row, _ in STUDIES["defenses_minilm"].cases[::-1]}
    for name in ("ewt_biaffine_minilm_pgd", "ewt_biaffine_minilm_offline_50"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        study.train(rows[name], HERE)
    pgd, copies, offline = (" ".join(command) for command in commands)
    assert "ewt_biaffine_minilm_finetuning.yaml" in pgd
    assert "configs/defense/pgd.yaml" in pgd
    assert "--trainer.max_steps 301 " in pgd  # 1,024 clean steps at 3.4 each
    assert copies.startswith("augment")
    assert "ewt_biaffine_minilm/best.ckpt" in copies
    assert "recipes/zheng2020_blackbox.yaml" in copies
    assert "--trainer.max_steps 1024 " in offline
    assert "ewt_biaffine_minilm/copies_100.conllu" in offline
    assert "--data.init_args.augmented_share 0.5 " in offline
    commands.clear()
    again = replace(rows["ewt_biaffine_minilm_pgd"], name="again", seed=2)
    start = again.configs[:1]
    study.train(again, HERE)
    seeds = [f"--{part}.init_args.seed" for part in ("model", "data")]
    assert [commands[0][commands[0].index(seed) + 1] for seed in seeds] == ["2", "2"]
    assert not any(seed in pgd for seed in seeds)
    (callback,) = yaml.safe_load(Path(commands[0][4]).read_text())["trainer"]["callbacks+"]
    assert callback["class_path"].endswith("PGD")
    assert callback["init_args"]["seed"] == 2
    # What is there is not trained again, and what was trained in another way is refused.
    study.train(again, HERE)
    assert len(commands) == 1
    others = (replace(again, steps=9), replace(again, seed=3), replace(again, configs=start))
    for other in others:
        with pytest.raises(SystemExit, match="move it away"):
            study.train(other, HERE)
