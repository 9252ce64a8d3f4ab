"""The studies: names that tell rows apart, what is trained and attacked, sentences drawn."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import study
from robustparse.data.conllu import block_of, read_treebank, write_treebank
from robustparse.data.sample.treebank import sample_treebank
from robustparse.types import DependencyTree, Sentence
from studies import STUDIES
from study_figures import qualities, result

HERE = study.Inputs(Path("treebank"), "mlm", "encoder", "vectors.txt")


def test_no_two_rows_share_a_file() -> None:
    kept_in = [result(name, one, *case) for name, one in STUDIES.items() for case in one.cases]
    assert len(set(kept_in)) == len(kept_in)
    for one in STUDIES.values():
        folders = [one.attacked(*case) for case in one.cases]
        assert len(set(folders)) == len(folders)


def test_attacks_of_several_studies_in_one_folder_are_on_the_same_sentences() -> None:
    drawn: dict[Path, set[float | None]] = {}
    for one in STUDIES.values():
        for case in one.cases:
            drawn.setdefault(one.attacked(*case), set()).add(one.sentences or one.share)
    assert [folder for folder, shares in drawn.items() if len(shares) > 1] == []


def test_sentences_are_drawn_once_and_long_enough(tmp_path: Path) -> None:
    examples = sample_treebank().test
    short = Sentence(("No", "."))
    blocks = [block_of(example.sentence, example.gold) for example in examples[:30]]
    blocks[1:1] = [block_of(short, DependencyTree((0, 1), ("root", "punct")))] * 30
    write_treebank(tmp_path / "x-test.conllu", blocks)
    inputs = study.Inputs(tmp_path, "", "", "")
    some = study.Study((study.Row("one", "one", home=tmp_path / "runs"),), sentences=20)
    name, path = study.sentences_of(some, inputs)
    first = [example.sentence.words for example in read_treebank(path)]
    assert (name, len(first)) == ("--data", 20)
    assert min(map(len, first)) >= 5
    study.sentences_of(some, inputs)
    assert [example.sentence.words for example in read_treebank(path)] == first
    _, path = study.sentences_of(replace(some, sentences=500), inputs)
    assert len(read_treebank(path)) == 30  # there are no more


def test_rows_are_trained_by_what_is_there() -> None:
    for one in STUDIES.values():
        for row, _ in one.cases:
            assert all(path.is_file() for path in row.config_files), row.name
            assert isinstance(row.title, str)


@pytest.mark.parametrize(
    ("name", "given", "lacking"),
    [
        ("zheng2020_table2", ["folder", "masked_lm", "encoder"], []),
        ("zheng2020_table2", ["folder"], ["--masked_lm", "--encoder"]),
        ("wang2021_filters", ["masked_lm"], ["--folder", "--vectors"]),
        ("ewt_relations", ["folder"], ["--masked_lm", "--encoder"]),
        ("universal_french", ["folder"], []),
        (
            "jin2020_snli",
            ["folder", "vectors"],
            ["--masked_lm", "--encoder", "--similarity", "--word_vectors"],
        ),
        ("jin2020_snli_training", ["folder", "vectors"], ["--similarity", "--word_vectors"]),
        ("mr_defenses", ["folder", "vectors"], ["--word_vectors"]),
    ],
)
def test_what_a_study_needs_is_asked_for_first(
    name: str, given: list[str], lacking: list[str]
) -> None:
    options = dict.fromkeys(("folder", "masked_lm", "encoder", "vectors", "word_vectors"))
    inputs = study.Inputs(**options | dict.fromkeys(given, "there"))
    assert study.missing(STUDIES[name], inputs) == lacking


CLEAN = "ewt_biaffine_minilm"


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Of the study, where files stand for what they would write."""
    monkeypatch.setattr(study, "find_split", lambda _, split: tmp_path / f"{split}.conllu")
    for split in ("train", "dev"):
        (tmp_path / f"{split}.conllu").write_text(f"a treebank's {split}")
    found: list[str] = []

    def run(command: list[str]) -> float:
        found.append(" ".join(command))
        name = "--out" if command[0] == "augment" else "--trainer.default_root_dir"
        path = Path(command[command.index(name) + 1])
        path.parent.mkdir(parents=True, exist_ok=True)
        if command[0] == "augment":
            path.write_text("copies")
        else:
            path.mkdir(exist_ok=True)
            (path / "best.ckpt").write_text("weights")
        return 1.0

    monkeypatch.setattr(study, "run", run)
    return found


@pytest.fixture
def rows(tmp_path: Path) -> dict[str, study.Row]:
    """Those of a study by the ends of their names, in a folder of their own."""
    return named(STUDIES["defenses_minilm"].elsewhere(tmp_path / "runs", None))


def named(one: study.Study) -> dict[str, study.Row]:
    return {row.name.removeprefix(CLEAN).lstrip("_"): row for row, _ in one.cases[::-1]}


def test_copies_are_made_after_their_parser_and_before_their_row(
    commands: list[str], rows: dict[str, study.Row]
) -> None:
    study.train(rows["offline_50"], HERE)
    clean, copies, offline = commands
    assert clean.startswith("fit")
    assert f"{CLEAN}.yaml" in clean
    assert copies.startswith("augment")
    assert f"{CLEAN}/best.ckpt" in copies
    assert "recipes/zheng2020_blackbox.yaml" in copies
    assert "--trainer.max_steps 1024 " in offline
    assert f"{CLEAN}/copies_100.conllu" in offline
    assert "--data.init_args.augmented_fraction 0.5 " in offline
    study.train(rows["offline_50"], HERE)  # nothing is left to do
    assert len(commands) == 3
    study.train(rows["offline_100"], HERE)  # `augment` sees for itself that it is done
    assert [command.split()[0] for command in commands[3:]] == ["augment", "fit"]


def test_a_defense_is_trained_from_its_clean_parser_in_the_same_time(
    commands: list[str], rows: dict[str, study.Row]
) -> None:
    study.train(rows[""], HERE)
    study.train(rows["pgd"], HERE)
    _, pgd = commands
    assert f"{CLEAN}_finetuning.yaml" in pgd
    assert "configs/defense/pgd.yaml" in pgd
    assert "--trainer.max_steps 301 " in pgd  # 1,024 clean steps at 3.4 each
    assert "init_args.seed" not in pgd


def test_a_second_seed_is_the_models_the_datas_and_the_adversarys(
    commands: list[str], rows: dict[str, study.Row]
) -> None:
    study.train(rows[""], HERE)
    study.train(replace(rows["pgd"], name="again", seed=2), HERE)
    words = commands[1].split()
    seeds = [f"--{part}.init_args.seed" for part in ("model", "data")]
    assert [words[words.index(seed) + 1] for seed in seeds] == ["2", "2"]
    (callback,) = yaml.safe_load(Path(words[4]).read_text())["trainer"]["callbacks+"]
    assert callback["class_path"].endswith("PGD")
    assert callback["init_args"]["seed"] == 2


@pytest.mark.parametrize("changed", ["steps", "seed", "configs", "start", "copies", "used", "dev"])
def test_a_row_trained_in_another_way_is_refused(
    changed: str,
    commands: list[str],
    rows: dict[str, study.Row],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = rows["offline_50"]
    study.train(row, HERE)
    study.train(row, HERE)
    assert sum(command.startswith("fit") for command in commands) == 2
    if changed == "start":
        (row.home / CLEAN / "best.ckpt").write_text("others")
    elif changed == "dev":
        (tmp_path / "dev.conllu").write_text("another treebank")
    elif changed == "copies":
        row.copies.path.write_text("others")
        monkeypatch.setattr(study, "run", lambda command: 1.0)
    else:
        other = {"steps": 9, "seed": 3, "configs": row.configs[:1]}.get(changed)
        part = {"copies": replace(row.copies, used=0.1)} if other is None else {changed: other}
        row = replace(row, **part)
    with pytest.raises(SystemExit, match="move it away"):
        study.train(row, HERE)


def test_a_row_that_does_not_say_its_treebank_and_encoder_is_taken(
    commands: list[str], rows: dict[str, study.Row]
) -> None:
    study.train(rows[""], HERE)
    with pytest.raises(SystemExit, match="move it away"):
        study.train(rows[""], replace(HERE, encoder="another"))
    done = rows[""].folder / "finished.json"
    content = json.loads(done.read_text())
    del content["training"]["treebank"], content["training"]["encoder"]
    done.write_text(json.dumps(content))
    study.train(rows[""], HERE)
    del content["training"]["copies"]  # which all rows say
    done.write_text(json.dumps(content))
    with pytest.raises(SystemExit, match="move it away"):
        study.train(rows[""], HERE)
    assert len(commands) == 1


def test_another_seed_is_every_rows_in_a_folder_of_its_own(
    commands: list[str], tmp_path: Path
) -> None:
    shipped = STUDIES["defenses_minilm"]
    home = tmp_path / "elsewhere"
    other = shipped.elsewhere(home, 3)
    moved = named(other)
    study.train(moved[""], HERE)
    study.train(moved["fgm"], HERE)
    study.train(moved["offline_50_seed_2"], HERE)
    clean, fgm, _, offline = (command.split() for command in commands)
    for words, seed in ((clean, "3"), (fgm, "3"), (offline, "5")):
        for part in ("model", "data"):
            assert words[words.index(f"--{part}.init_args.seed") + 1] == seed
    for words in (fgm, offline):
        assert words[words.index("--model.init_args.init_from") + 1] == f"{home}/{CLEAN}/best.ckpt"
    assert "init_from" not in " ".join(clean)
    assert moved["offline_50_seed_2"].title.endswith(", seed 5")
    assert moved["offline_50_seed_2"].copies.of == moved[""]
    row = study.Row("ewt_biaffine_early_stopping", "its adversary in one file").elsewhere(home, 3)
    (own,) = study.configs(row, HERE)
    assert yaml.safe_load(own.read_text())["trainer"]["callbacks"][0]["init_args"]["seed"] == 3
    places = [result("a study", one, *one.cases[0]) for one in (shipped, other)]
    assert places[0].parent == study.ROOT / "bench" / "results"
    assert places[1].parent == home / "results"
    assert other.attacked(*other.cases[0]).is_relative_to(home)


def test_a_row_needs_the_parser_that_it_continues_from(
    commands: list[str], rows: dict[str, study.Row]
) -> None:
    with pytest.raises(
        SystemExit, match=f"pgd continues from .*{CLEAN}/best.ckpt, which is not there"
    ):
        study.train(rows["pgd"], HERE)
    assert commands == []


def test_another_seed_needs_a_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["study.py", "--study", "wang2021", "--seed", "3", "--table"])
    with pytest.raises(SystemExit):
        study.main()
    assert "--home FOLDER" in capsys.readouterr().err


@pytest.mark.parametrize("elsewhere", [True, False])
def test_the_table_is_of_the_results_of_its_folder(
    elsewhere: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    place = ["--home", str(tmp_path)] if elsewhere else []
    monkeypatch.setattr("sys.argv", ["study.py", "--study", "zheng2020_table1", "--table", *place])
    study.main()
    kept = list(STUDIES["zheng2020_table1"].results.glob("zheng2020_table1_*.json"))
    figures = 0 if elsewhere else len(kept)
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("|") for line in lines) == 2 + figures


def test_a_measurement_that_was_cut_off_is_not_whole(tmp_path: Path) -> None:
    nothing = dict.fromkeys(("perplexity", "word_similarity", "sentence_similarity"))
    assert qualities(tmp_path) == nothing
    near = {"changed": {"mean": 0.8}, "success": {"mean": 0.7}}
    (tmp_path / "quality.json").write_text(json.dumps({"word_similarity": near}))
    assert qualities(tmp_path) == {**nothing, "word_similarity": {"mean": 0.8}}


def test_a_row_of_several_members_trains_and_attacks_these(
    commands: list[str], tmp_path: Path
) -> None:
    moved = STUDIES["wang2021"].elsewhere(tmp_path / "runs", None)
    inputs = replace(HERE, word_vectors=str(tmp_path / "train.conllu"))
    row = next(row for row in moved.rows if row.name == "ewt_stack_pointer_embeddings")
    study.train(row, inputs)
    assert [command.split()[0] for command in commands] == ["fit"] * 3
    assert not row.folder.exists()
    command = study.attack_command(row, inputs)
    places = command[command.index("--checkpoint") + 1 :]
    assert places == [f"{one.home}/{one.name}/best.ckpt" for one in row.members]
    assert {one.home for one in row.members} == {tmp_path / "runs"}


def test_vectors_are_capped_and_candidates_seen_in_training(
    commands: list[str], tmp_path: Path
) -> None:
    moved = STUDIES["wang2021"].elsewhere(tmp_path / "runs", None)
    inputs = replace(HERE, word_vectors=str(tmp_path / "train.conllu"))
    capped = next(row for row in moved.rows if row.max_vectors)
    study.train(capped, inputs)
    assert f"encoder.init_args.max_vectors {capped.max_vectors}" in commands[0]
    with pytest.raises(SystemExit, match="move it away"):
        study.train(replace(capped, max_vectors=9), inputs)
    seen = next(row for row in moved.rows if row.seen)
    command = study.attack_command(seen, inputs)
    recipe = yaml.safe_load(Path(command[command.index("--attack") + 1]).read_text())
    assert recipe["constraints"][-1] == {"class_path": "robustparse.attacks.SeenInTraining"}
    assert seen.attack == "wang2021_open_seen"


def test_a_row_rests_on_its_parsers_and_its_recipe(
    commands: list[str], rows: dict[str, study.Row], tmp_path: Path
) -> None:
    """Whatever its budget and wherever files lie, but not with another model or start."""
    row = replace(rows["offline_50"], references=("judge",), recipe="zheng2020_blackbox")
    (row.home / "judge").mkdir(parents=True)
    (row.home / "judge" / "best.ckpt").write_text("judge")
    before = study.planned(row, 0.15, HERE)["origin"]
    assert set(before) == {f"the recipe {row.attack}", "the parser judge/best.ckpt"}
    study.train(row, HERE)
    (row.folder / row.checkpoint).write_text("trained")
    made = row.copies.path.with_suffix(".attack")
    made.mkdir()
    (made / "run.json").write_text(json.dumps({"sha256": {"checkpoint": ["its parser's"]}}))
    origin = study.planned(row, 0.15, HERE)["origin"]
    assert set(origin) - set(before) == {
        f"the parser {row.name}/{row.checkpoint}",
        f"the parser {CLEAN}/best.ckpt",
        f"the copies {CLEAN}/copies_100.conllu",
    }
    assert before.items() <= origin.items()
    assert origin[f"the parser {CLEAN}/best.ckpt"] == "its parser's"
    (row.home / CLEAN / "best.ckpt").write_text("trained anew")
    assert study.planned(row, 0.05, HERE)["origin"] == origin
    moved = replace(row, references=())
    (tmp_path / "mlm").mkdir()
    (tmp_path / "mlm" / "weights").write_text("of a model")
    other = study.planned(moved, 0.15, replace(HERE, masked_lm=str(tmp_path / "mlm")))["origin"]
    assert other[f"the recipe {moved.attack}"] != origin[f"the recipe {row.attack}"]


def test_a_study_refuses_a_row_before_it_is_attacked(
    commands: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its start was trained anew after another row had been measured."""
    home = tmp_path / "runs"
    one = STUDIES["universal_french"].elsewhere(home, None)
    clean, control, _ = one.rows
    for row in (clean, control):
        row.folder.mkdir(parents=True)
        (row.folder / row.checkpoint).write_text(row.name)
    kept_at = result("universal_french", one, control, 0.15)
    kept_at.parent.mkdir()
    figures = study.planned(control, 0.15, HERE)
    kept_at.write_text(json.dumps(figures))
    (clean.folder / clean.checkpoint).write_text("trained anew")
    words = f"--study universal_french --folder x --home {home} --steps attack --rows {clean.name}"
    monkeypatch.setattr("sys.argv", ["study.py", *words.split()])
    with pytest.raises(SystemExit, match=f"{clean.name}/best.ckpt"):
        study.main()
    assert commands == []


def test_copies_of_the_recipes_own_ranking(commands: list[str], tmp_path: Path) -> None:
    moved = STUDIES["wang2021_copies"].elsewhere(tmp_path / "runs", None)
    study.train(next(row for row in moved.rows if row.copies), HERE)
    (augment,) = (command for command in commands if command.startswith("augment"))
    assert "ranking" not in augment
    assert "--fraction 0.25 --keep changed " in augment
    assert commands[-1].endswith("--data.init_args.vocabulary_of merged --ckpt_path last")
