"""The study runner: which commands it runs, what it refuses, and which figures it keeps."""

import functools
import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import results
import studies
import study
import study_machine
import study_rows
import study_tests
from robustparse.cli.main import main
from robustparse.data.conllu import block_of, read_treebank, write_treebank
from robustparse.data.sample.treebank import sample_treebank
from robustparse.errors import InputError
from robustparse.evaluation import significance
from robustparse.evaluation.shared_adversaries import shared_adversaries
from robustparse.types import DependencyTree, Sentence
from study import Runner

CLEAN = "ewt_biaffine_minilm"


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, str]:
    """Files and folders of a machine."""
    (tmp_path / "corpus").mkdir()
    for split in ("train", "dev", "test"):
        (tmp_path / "corpus" / f"x-{split}.conllu").write_text(f"a treebank's {split}")
    (tmp_path / "vectors.txt").write_text("vectors")
    (tmp_path / "encoder").mkdir()
    (tmp_path / "encoder" / "weights").write_text("weights")
    named = dict.fromkeys(("vectors", "word_vectors"), str(tmp_path / "vectors.txt"))
    models = {"masked_lm": "a-model", "encoder": str(tmp_path / "encoder")}
    return {"folder": str(tmp_path / "corpus"), **models, **named}


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands of the runner, where files stand for what they would write."""
    ran: list[str] = []

    def run(command: list[str]) -> float:
        ran.append(" ".join(command))
        name = "--out" if command[0] == "augment" else "--trainer.default_root_dir"
        path = Path(command[command.index(name) + 1])
        path.parent.mkdir(parents=True, exist_ok=True)
        if command[0] == "augment":
            path.write_text("copies")
        else:
            path.mkdir(exist_ok=True)
            (path / "best.ckpt").write_text("weights")
        return 1.0

    monkeypatch.setattr(study_machine.Machine, "run", lambda _, command: run(command))
    return ran


def runner(name: str, tmp_path: Path, inputs: dict[str, str], seed: int | None = None) -> Runner:
    return Runner(studies.read_study(name, tmp_path / "runs", seed), inputs)


def test_each_set_of_values_makes_a_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "STUDIES", tmp_path)
    one = {
        "title": "{corpus}, FGM",
        "each": [{"corpus": "geo"}, {"corpus": "jobs", "checkpoint": "last.ckpt"}],
        "configs": ["data/{corpus}"],
        "copies": {"name": "{corpus}_deletion", "operations": ["{raw}"]},
    }
    content = {"task": "semantic", "test": {}, "systems": {"{corpus}_fgm": one}}
    (tmp_path / "x.yaml").write_text(yaml.safe_dump(content))
    geo, jobs = (study := studies.read_study("x")).systems.values()
    assert (geo.name, geo.title, geo.configs) == ("geo_fgm", "geo, FGM", ("data/geo",))
    assert (geo.checkpoint, jobs.checkpoint) == ("best.ckpt", "last.ckpt")
    assert study.copies_file(jobs.copies[0], None).stem == "copies_jobs_deletion_0"
    assert jobs.copies[0]["operations"] == ["{raw}"]  # a file of this machine
    content["systems"] = {"fgm": one}
    (tmp_path / "x.yaml").write_text(yaml.safe_dump(content))
    with pytest.raises(InputError) as error:
        studies.read_study("x")
    assert error.value.key == "fgm"


@pytest.mark.parametrize("name", studies.names())
def test_a_study_names_configurations_recipes_and_folders_of_its_own(name: str) -> None:
    one = studies.read_study(name)
    for system in one.systems.values():
        assert all(content for content in system.contents())
    for attack in one.attacks.values():
        assert attack.certify or attack.content()["search"]
    if one.attacks:
        folders = [one.attacked(*row) for row in one.rows if row[1]]
        assert len(set(folders)) == len(folders)


def trainings() -> list[Any]:
    """Few systems that together have every configuration and every option of all studies."""
    parts = {}
    for name in studies.names():
        for system in studies.read_study(name).systems.values():
            configs = {one if isinstance(one, str) else json.dumps(one) for one in system.configs}
            if configs:
                copied = f"copies: {bool(system.copies)}"
                parts[name, system.name] = configs | {*system.fit, copied}
    chosen, left = [], set().union(*parts.values())
    while left:
        best = max(parts, key=lambda key: len(parts[key] & left))
        chosen.append(pytest.param(*best, id="-".join(best)))
        left -= parts[best]
    return chosen


@pytest.mark.slow
@pytest.mark.parametrize(("name", "system"), trainings())
def test_fit_accepts_the_command_of_a_system(
    name: str, system: str, tmp_path: Path, inputs: dict[str, str], capsys
) -> None:
    inputs = {one: inputs.get(one, str(tmp_path / one)) for one in studies.INPUTS}
    run = runner(name, tmp_path, inputs, seed=1)
    one = run.study.systems[system]
    files = [run.study.copies_file(copies, one.seed) for copies in one.copies]
    with pytest.raises(SystemExit) as end:
        main([*run.training.fit_command(one, files), "--print_config"])
    assert end.value.code == 0, capsys.readouterr().err
    shown = yaml.safe_load(capsys.readouterr().out)
    assert shown["model"]["init_args"]["seed"] == one.seed


def test_attacks_of_several_studies_in_one_folder_are_the_same() -> None:
    """On the same sentences, by the same recipe."""
    made: dict[Path, set[str]] = {}
    for one in map(studies.read_study, studies.names()):
        for system, attack, budget in one.rows:
            if attack is not None:
                recipe = studies.filled(attack.content(), system.values)
                what = json.dumps([dict(one.test), recipe], sort_keys=True)
                made.setdefault(one.attacked(system, attack, budget), set()).add(what)
    assert [folder for folder, whats in made.items() if len(whats) > 1] == []


@pytest.mark.parametrize("name", studies.names())
def test_a_kept_row_belongs_to_the_study_and_says_how_it_was_run(name: str) -> None:
    one = studies.read_study(name)
    kept = Runner(one, {}).rows.kept()
    study_rows.agree(kept)
    rows = {study.key(Runner(one, {}).rows.row(*row)): row for row in one.rows}
    for line in kept:
        assert line["command"].startswith("python bench/study.py ")
        assert line["processor"]
        if "printed" in line:
            continue
        if "seeds" in line:  # several trainings, of which only means were kept
            names = [line["system"], *(f"{line['system']}_seed_{n}" for n in line["seeds"][1:])]
            assert [one.systems[system].seed for system in names] == line["seeds"]
            continue
        system, _, _ = rows[study.key(line)]
        planned = [part if isinstance(part, str) else "own" for part in system.configs]
        assert (line["configs"], line["training_seed"]) == (planned, system.seed)
        if line.get("steps") and system.steps:
            assert line["steps"] <= system.steps  # of the best epoch


def test_a_recipe_is_changed_as_the_study_says() -> None:
    one = studies.read_study("ewt_references")
    strict = one.attacks["zheng2020_blackbox_strict"].content()
    assert strict["goal"]["init_args"]["success"] == "strict"
    references = one.attacks["pwws_references"].content()["constraints"][-1]
    assert references["class_path"] == study_rows.REFERENCES
    whole = studies.Attack("wang2021_open").content()["constraints"]
    some = studies.read_study("wang2021_filters").attacks["wang2021_open_2_filters"].content()
    assert some["constraints"] == whole[:3]
    relations = studies.read_study("ewt_relations").attacks["zheng2020_blackbox_copulas"]
    assert relations.without[0] not in [
        one["class_path"] for one in relations.content()["constraints"]
    ]


def test_files_of_this_machine_stand_in_recipes(tmp_path: Path, inputs: dict[str, str]) -> None:
    run = runner("ewt_references", tmp_path, inputs)
    system, attack = run.study.systems[CLEAN], run.study.attacks["wang2021_open_references"]
    command = run.machine.attack_command(system, attack, 0.05)
    text = Path(command[command.index("--attack") + 1]).read_text()
    recipe = yaml.safe_load(text)
    assert recipe["search"]["init_args"]["gamma"] == 0.05
    assert inputs["vectors"] in text
    assert "bert-base-uncased" not in text
    judge = f"{tmp_path}/runs/ewt_biaffine_word_character/best.ckpt"
    assert recipe["constraints"][-1]["init_args"]["checkpoints"] == [judge]
    assert command[-2:] == ["--checkpoint", f"{tmp_path}/runs/{CLEAN}/best.ckpt"]


def test_sentences_are_drawn_once_and_long_enough(tmp_path: Path, inputs: dict[str, str]) -> None:
    examples = sample_treebank().test
    short = Sentence(("No", "."))
    blocks = [block_of(example.sentence, example.gold) for example in examples[:30]]
    blocks[1:1] = [block_of(short, DependencyTree((0, 1), ("root", "punct")))] * 30
    write_treebank(Path(inputs["folder"]) / "x-test.conllu", blocks)
    run = runner("universal_french", tmp_path, inputs)
    run = Runner(replace(run.study, test={"sentences": 20}), run.inputs)
    (system, *_) = run.study.systems.values()
    name, path = run.tests.sentences(system)
    first = [example.sentence.words for example in read_treebank(path)]
    assert (name, len(first)) == ("--data", 20)
    assert min(map(len, first)) >= 5
    run.tests.sentences(system)
    assert [example.sentence.words for example in read_treebank(path)] == first
    run = Runner(replace(run.study, test={"sentences": 500}), run.inputs)
    assert len(read_treebank(run.tests.sentences(system)[1])) == 30  # there are no more


@pytest.mark.parametrize(
    ("name", "needs"),
    [
        ("zheng2020_table2", {"folder", "masked_lm", "encoder", "vectors"}),
        ("wang2021_filters", {"folder", "masked_lm", "vectors"}),
        ("universal_french", {"folder"}),
        ("jin2020_snli_training", {"folder", "vectors", "word_vectors", "similarity"}),
        ("mr_defenses", {"folder", "vectors", "word_vectors"}),
        ("huang2021", {"forms", "perturbed", "raw", "vectors", "parser"}),
    ],
)
def test_a_study_says_which_files_it_needs(
    name: str, needs: set[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = studies.read_study(name)
    assert set(one.needs(one.rows)) == needs
    monkeypatch.setattr("sys.argv", ["study.py", name])
    with pytest.raises(SystemExit):
        study.main()
    told = capsys.readouterr().err
    assert all(f"--{one}" in told for one in needs)


def test_copies_are_made_after_their_parser_and_before_their_system(
    commands: list[str], tmp_path: Path, inputs: dict[str, str]
) -> None:
    run = runner("defenses_minilm", tmp_path, inputs)
    half, whole = (run.study.systems[f"{CLEAN}_offline_{share}"] for share in (50, 100))
    run.training.train(half)
    clean, copies, offline = commands
    assert clean.startswith("fit")
    assert f"encoder.init_args.model {inputs['encoder']}" in clean
    assert copies.startswith("augment")
    assert f"{CLEAN}/best.ckpt" in copies
    assert "recipes/zheng2020_blackbox.yaml" in copies
    assert "ranking random --fraction 1.0" in copies
    assert "--trainer.max_steps 1024 " in offline
    assert f"{CLEAN}/copies_zheng2020_blackbox_100.conllu" in offline
    assert "--data.init_args.augmentation.fraction 0.5 " in offline
    run.training.train(half)  # nothing is left to do
    assert len(commands) == 3
    run.training.train(whole)  # `augment` sees for itself that it is done
    assert [command.split()[0] for command in commands[3:]] == ["augment", "fit"]


def test_a_defense_continues_from_its_clean_parser_in_the_same_time(
    commands: list[str], tmp_path: Path, inputs: dict[str, str]
) -> None:
    run = runner("defenses_minilm", tmp_path, inputs)
    pgd = run.study.systems[f"{CLEAN}_pgd"]
    with pytest.raises(SystemExit, match=f"continues from .*{CLEAN}/best.ckpt"):
        run.training.train(pgd)
    assert commands == []
    run.training.train(run.study.systems[CLEAN])
    run.training.train(pgd)
    _, command = commands
    assert f"{CLEAN}_finetuning.yaml" in command
    assert "configs/defense/pgd.yaml" in command
    assert f"init_from {tmp_path}/runs/{CLEAN}/best.ckpt" in command
    assert "--trainer.max_steps 301 " in command  # 1,024 clean steps at 3.4 each
    assert "init_args.seed" not in command


def test_another_seed_is_the_models_the_datas_and_the_adversarys(
    commands: list[str], tmp_path: Path, inputs: dict[str, str]
) -> None:
    run = runner("defenses_minilm", tmp_path, inputs, seed=3)
    run.training.train(run.study.systems[CLEAN])
    run.training.train(run.study.systems[f"{CLEAN}_pgd"])
    run.training.train(run.study.systems[f"{CLEAN}_offline_50_seed_2"])
    clean, pgd, _, offline = (command.split() for command in commands)
    for words, seed in ((clean, "3"), (pgd, "3"), (offline, "5")):
        for part in ("model", "data"):
            assert words[words.index(f"--{part}.init_args.seed") + 1] == seed
    configs = [word for before, word in itertools.pairwise(pgd) if before == "--config"]
    (callback,) = yaml.safe_load(Path(configs[-1]).read_text())["trainer"]["callbacks+"]
    assert callback["class_path"].endswith("PGD")
    assert callback["init_args"]["seed"] == 3
    assert run.study.systems[f"{CLEAN}_offline_50_seed_2"].title.endswith(", seed 5")
    assert run.study.results == tmp_path / "runs" / "results" / "defenses_minilm.jsonl"


def test_another_seed_needs_a_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["study.py", "wang2021", "--seed", "3", "--table"])
    with pytest.raises(SystemExit):
        study.main()
    assert "--home FOLDER" in capsys.readouterr().err


@pytest.mark.parametrize(
    "changed", ["steps", "seed", "configs", "start", "copies", "used", "dev", "encoder", "fit"]
)
def test_a_system_trained_in_another_way_is_refused(
    changed: str,
    commands: list[str],
    tmp_path: Path,
    inputs: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = runner("defenses_minilm", tmp_path, inputs)
    system = run.study.systems[f"{CLEAN}_offline_50"]
    run.training.train(system)
    run.training.train(system)
    assert sum(command.startswith("fit") for command in commands) == 2
    if changed == "start":
        (run.study.home / CLEAN / "best.ckpt").write_text("others")
    elif changed == "dev":
        (Path(inputs["folder"]) / "x-dev.conllu").write_text("another treebank")
    elif changed == "encoder":
        (Path(inputs["encoder"]) / "weights").write_text("others")
    elif changed == "copies":
        run.study.copies_file(system.copies[0], None).write_text("others")
    else:
        others: dict[str, Any] = {"steps": 9, "seed": 3, "configs": system.configs[:1]}
        others |= {"fit": {}, "copies": ({**system.copies[0], "used": 0.1},)}
        name = "copies" if changed == "used" else changed
        system = replace(system, **{name: others[name]})
    with pytest.raises(SystemExit, match="move it away"):
        run.training.train(system)


def test_members_train_and_are_attacked_together(
    commands: list[str], tmp_path: Path, inputs: dict[str, str]
) -> None:
    run = runner("wang2021", tmp_path, inputs)
    system = run.study.systems["ewt_stack_pointer_embeddings"]
    run.training.train(system)
    assert [command.split()[0] for command in commands] == ["fit"] * 3
    command = run.machine.attack_command(system, run.study.attacks["wang2021_open"])
    assert command[command.index("--checkpoint") + 1 :] == [
        f"{tmp_path}/runs/{name}/best.ckpt" for name in system.members
    ]


def test_utterances_are_copied_by_operations(
    commands: list[str], tmp_path: Path, inputs: dict[str, str]
) -> None:
    """Once before training, each operation with a seed of its own, or in every epoch."""
    corpus = tmp_path / "raw" / "jobs"
    corpus.mkdir(parents=True)
    (corpus / "train.tsv").write_text("jobs\tjob ( ANS )\n")
    inputs |= {"raw": str(tmp_path / "raw"), "forms": str(tmp_path / "raw"), "parser": "p.ckpt"}
    run = runner("huang2021_training", tmp_path, inputs)
    run.training.train(run.study.systems["jobs_coarse2fine_mda"])
    *copies, fit = commands
    assert [one.split("--seed ")[1].split()[0] for one in copies] == [*"012345"]
    assert all("--fraction 0.2 " in one for one in copies)
    assert inputs["vectors"] in copies[3]
    assert fit.count("copies_") == 6
    assert "--data.init_args.augmentation.vocabulary merged" in fit
    run.training.train(run.study.systems["jobs_coarse2fine_mda_online_seed_2"])
    words = commands[-1].split()
    configs = [word for before, word in itertools.pairwise(words) if before == "--config"]
    content = yaml.safe_load(Path(configs[-1]).read_text())
    callbacks = content["trainer"]["callbacks+"]
    assert [one["init_args"]["seed"] for one in callbacks] == [200, 201, 202, 203, 204, 205]


def test_a_system_is_scored_on_the_test_set_and_the_perturbed_sets(
    tmp_path: Path, inputs: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sets" / "geo").mkdir(parents=True)
    inputs |= {"forms": str(tmp_path / "forms"), "perturbed": str(tmp_path / "sets")}
    run = runner("huang2021", tmp_path, inputs)

    def scored(command: list[str]) -> float:
        assert command[command.index("--perturbed") + 1] == str(tmp_path / "sets" / "geo")
        out = Path(command[-1])
        out.mkdir(parents=True)
        macro = {"rows": 2, "perturbation_accuracy": 50.0, "robust_accuracy": 60.0}
        files = {"macro": macro, "substitution_f": {"rows": 1}}
        scores = {"exact_match": 90.0, "tranx_match": None, "perturbed_files": files}
        (out / "scores.json").write_text(json.dumps(scores))
        write_rows(out, [(True, False), (False, True)])
        return 1.0

    monkeypatch.setattr(study_machine.Machine, "run", lambda _, command: scored(command))
    monkeypatch.setattr(run.tests, "trained", lambda system: {"steps": 7})
    figures = run.tests.evaluate(run.study.systems["geo_tranx"])
    assert figures["scores"]["exact_match"] == 90.0
    assert "tranx_match" not in figures["scores"]
    assert figures["scores"]["macro"]["robust"] == 60.0
    assert figures["scores"]["function_word_substitution"]["rows"] == 1
    assert figures["outcomes"] == {
        "test": {"original": "10"},
        "deletion": {"original": "1", "perturbed": "0"},
        "insertion": {"original": "0", "perturbed": "1"},
    }


def write_rows(folder: Path, rights: Sequence[tuple[bool, bool]]) -> None:
    """Write what `evaluate` says of texts before and after operations, the first half deletions."""
    answers, perturbed = [], []
    for number, (before, after) in enumerate(rights):
        operation = "deletion" if number < len(rights) / 2 else "insertion"
        original = {"tokens": [str(number)], "right": before}
        answers.append(original)
        perturbed.append(
            {"operation": operation, "tokens": ["b"], "right": after, "original": original}
        )
    for name, lines in (("answers", answers), ("perturbed", perturbed)):
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text)


def test_shared_adversaries_are_those_of_the_report(tmp_path: Path) -> None:
    pairs = [*itertools.product(itertools.product([False, True], repeat=2), repeat=2)]
    folders = [tmp_path / "a", tmp_path / "b"]
    for at, folder in enumerate(folders):
        folder.mkdir()
        write_rows(folder, [pair[at] for pair in pairs])
    first, second = ({"outcomes": study_tests.outcomes(folder)} for folder in folders)
    shared = shared_adversaries(folders)
    assert len(shared) == 2
    of_all, of_any = (sum(getattr(one, name) for one in shared) for name in ("of_all", "of_any"))
    found = functools.partial(results.adversaries, first, {"second": second})
    assert found("all", "second") == 100 * of_all / of_any
    for one in shared:
        assert found(one.operation, "second") == 100 * one.of_all / of_all
    assert found("all", "third") is None
    none = {"outcomes": {"test": {"original": "1"}, "x": {"original": "1", "perturbed": "1"}}}
    assert results.adversaries(none, {"same": none}, "all", "same") is None
    right = [[int(pair[at][0]) for pair in pairs] for at in range(2)]
    p = significance.paired_permutation(*right, seed=0)
    assert results.paired_p(first, {"second": second}, "second") == f"{p:.2f}"
    assert results.paired_p(first, {}, "second") is None


def test_a_corpus_without_perturbed_sets_gets_them_from_its_raw_texts(
    tmp_path: Path, inputs: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sets" / "jobs").mkdir(parents=True)
    inputs |= {"raw": "texts", "perturbed": str(tmp_path / "sets")}
    run, ran = runner("huang2021", tmp_path, inputs), []

    def augment(command: list[str]) -> None:
        assert command[command.index("--data") + 1] == "texts/geo/test.tsv"
        ran.append(Path(command[-1]))
        ran[-1].write_text("perturbed\toriginal\tanswer\n")

    monkeypatch.setattr(study_machine.Machine, "run", lambda _, command: augment(command))
    for _ in range(2):  # once for all parsers of a corpus
        for name in ("geo_tranx", "jobs_tranx", "geo_seq2seq"):
            system = run.study.systems[name]
            folder = run.tests.perturbed(
                system, studies.filled(run.study.test, run.machine.values(system))
            )
            made = tmp_path / "runs" / "perturbed" / "geo"
            assert folder == (tmp_path / "sets" / "jobs" if name == "jobs_tranx" else made)
    assert [path.stem for path in ran] == [*run.study.test["operations"]]
    assert {path.parent for path in ran} == {made}


def test_a_row_rests_on_its_parsers_and_its_recipe(
    commands: list[str], tmp_path: Path, inputs: dict[str, str]
) -> None:
    """Whatever its budget and wherever files lie, but not with another model or start."""
    run = runner("defenses_minilm", tmp_path, inputs)
    system, attack = run.study.systems[f"{CLEAN}_offline_50"], run.study.attacks["pwws"]
    before = run.rows.row(system, attack, None)["origin"]
    assert set(before) == {"the recipe pwws"}
    run.training.train(system)
    (run.study.folder(system) / system.checkpoint).write_text("trained")
    made = run.study.copies_file(system.copies[0], None).with_suffix(".attack")
    made.mkdir()
    (made / "run.json").write_text(json.dumps({"sha256": {"checkpoint": ["its parser's"]}}))
    origin = run.rows.row(system, attack, None)["origin"]
    assert set(origin) - set(before) == {
        f"the parser {system.name}/{system.checkpoint}",
        f"the parser {CLEAN}/best.ckpt",
        f"the copies {CLEAN}/copies_zheng2020_blackbox_100.conllu",
    }
    assert origin[f"the parser {CLEAN}/best.ckpt"] == "its parser's"
    zheng = run.study.attacks["zheng2020_blackbox"]
    first = run.rows.row(system, zheng, 0.05)["origin"]["the recipe zheng2020_blackbox"]
    assert first == run.rows.row(system, zheng, 0.15)["origin"]["the recipe zheng2020_blackbox"]
    run = Runner(run.study, {**inputs, "masked_lm": "another"})
    assert first != run.rows.row(system, zheng, 0.05)["origin"]["the recipe zheng2020_blackbox"]


def test_a_row_on_another_parser_of_the_same_name_is_refused(
    commands: list[str], tmp_path: Path, inputs: dict[str, str]
) -> None:
    run = runner("universal_french", tmp_path, inputs)
    clean, control, _ = run.study.rows
    for system, _, _ in (clean, control):
        run.study.folder(system).mkdir(parents=True)
        (run.study.folder(system) / system.checkpoint).write_text(system.name)
    run.rows.keep({**run.rows.row(*control), "processor": "", "counts": {}})
    (run.study.folder(clean[0]) / clean[0].checkpoint).write_text("trained anew")
    with pytest.raises(SystemExit, match=f"{clean[0].name}/best.ckpt"):
        run.measure(["test"], [clean], "")
    assert commands == []


def test_a_line_is_kept_once_in_the_order_of_the_study(
    tmp_path: Path, inputs: dict[str, str]
) -> None:
    run = runner("huang2021_training", tmp_path, inputs)
    names = ["jobs_tranx", "jobs_seq2seq_seed_1", "jobs_seq2seq"]
    run.study.results.parent.mkdir(parents=True)
    run.study.results.write_text(json.dumps({"system": "jobs_seq2seq", "seeds": [0, 1]}) + "\n")
    for steps in (1, 2):
        for name in names:
            run.rows.keep({"system": name, "steps": steps})
    assert [(one["system"], one["steps"]) for one in run.rows.kept()] == [
        (name, 2) for name in ("jobs_seq2seq", "jobs_seq2seq_seed_1", "jobs_tranx")
    ]


def test_an_unknown_name_in_a_study_is_named(tmp_path: Path, monkeypatch) -> None:
    content = (
        "task: dependency\ntest: {share: 1.0}\nsystems:\n  one: {title: one, members: [two]}\n"
    )
    (tmp_path / "mine.yaml").write_text(content)
    monkeypatch.setattr(studies, "STUDIES", tmp_path)
    with pytest.raises(InputError) as raised:
        studies.read_study("mine")
    assert raised.value.key == "one"


def test_a_measurement_that_was_cut_off_is_not_whole(tmp_path: Path) -> None:
    nothing = dict.fromkeys(("perplexity", "word_similarity", "sentence_similarity"))
    assert study_tests.qualities(tmp_path) == nothing
    near = {"changed": {"mean": 0.8}, "success": {"mean": 0.7}}
    (tmp_path / "quality.json").write_text(json.dumps({"word_similarity": near}))
    assert study_tests.qualities(tmp_path) == {**nothing, "word_similarity": {"mean": 0.8}}


def test_copulas_are_counted_by_class_of_tag() -> None:
    gold = {"labels": ["cop", "aux:pass", "obj"]}
    line = {"edited": [0, 1, 2], "edited_tags": ["VBZ", "VBD", "NN"], "gold": gold}
    assert study_tests.copulas([line]) == {
        "all": {"changed": 3, "copulas": 2},
        "VB": {"changed": 2, "copulas": 2},
        "NN": {"changed": 1, "copulas": 0},
    }
