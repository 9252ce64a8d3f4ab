"""A user's mistake, in a recipe, a configuration, a file or an option: exit code 2, one message."""

import json
import os
import pickle
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from broken_files import GOOD, TREEBANKS, broken_checkpoints
from command_runs import RECIPE, ROOM, attack_by, constrained, mistake
from tiny_runs import fit, write_config

from robustparse import errors
from robustparse.cli.main import main
from robustparse.evaluation.example_records import read_records

LEXICON = RECIPE.replace("TrainingWords", "Lexicon").replace("{sample: 5}", "{table: table.json}")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def base(made: Path) -> dict[str, list[str]]:
    """The arguments of commands that would run."""
    model = ["--checkpoint", f"{made}/tiny.ckpt", "--data", f"{made}/test.conllu"]
    recipe = ["--attack", f"{made}/words.yaml"]
    return {
        "attack": ["attack", "--trust", "command_runs", *recipe, *model, "--out", "out"],
        "augment": ["augment", *recipe, *model, "--out", "copies.conllu"],
        "evaluate": ["evaluate", *model],
        "fit": ["fit", "--config", str(write_config(Path("good.yaml")))],
        "": [],
    }


# Command, options, and what the message shows: the file and the key, name or value.
OPTIONS = [
    ("attack", "--context hi", "--context", "--text"),
    ("attack", "--limit 0", "--limit", "0"),
    ("attack", "--seed -1", "--seed", "-1"),
    ("attack", "--attack.seed -1", "--seed", "-1"),
    ("attack", "--nonsense 1", "--nonsense"),
    ("attack", "--checkpoint {made}/tiny.ckpt", "tiny.ckpt: --checkpoint", "twice"),
    ("attack", "--tagger #x", "--tagger", "#x"),
    ("attack", "--license mit", "--license", "--format dataset"),
    ("attack", "--attack.budget", "--attack.budget: has no value"),
    ("attack", "--out -x", "--out: has no value; write --out=VALUE"),
    ("attack", "--attack.budget 1:30", "attack.budget: ", "1:30"),
    ("attack", "--attack no/missing.yaml", "no/missing.yaml: --attack"),
    ("attack", "--attack missing.yaml", "missing.yaml: --attack"),
    ("attack", "--attack {{search:", "--attack: not YAML"),
    ("attack", "--attack zheng2020", "zheng2020_blackbox", "zheng2020_blackbox_character"),
    ("attack", "--attack robustparse.attacks.Atack", "did you mean Attack"),
    ("attack", "--attack.search.width 3", "attack.search.width", "Zheng2020"),
    ("attack", "--attack.search Beem", "attack.search: ", "Beem", "did you mean Beam?"),
    ("attack", "--attack.search TrainingWords", "attack.search: ", "TrainingWords", "kind Search"),
    ("attack", "--attack.search.gamma x", "attack.search.gamma: ", "float", "x"),
    ("attack", "--attack.live 0", "live", "0"),
    ("attack", "--attack.budget 0", "budget", "0"),
    ("attack", "--attack.budgets 5", "attack.budgets: ", "did you mean budget?"),
    ("attack", "--out {made}/test.conllu/out", "test.conllu/out"),
    ("attack", "--fraction 1.5", "--fraction", "1.5"),
    ("attack", "--devices 0", "--devices", "0"),
    ("attack", "--devices many", "devices: ", "many"),
    ("attack", "--trust", "--trust"),
    ("attack", "--data missing.conllu", "missing.conllu: no such file"),
    ("attack", "--mean logits", "--mean"),
    ("augment", "--mean logits", "--mean"),
    ("augment", "--fraction 0.5 --tokens 0.5", "--fraction", "--tokens"),
    ("augment", "--tokens 0", "--tokens", "0"),
    ("augment", "--keep some", "keep: ", "some", "pairs"),
    ("augment", "--out copies.txt", "copies.txt: --out", ".conllu"),
    ("augment", "--out {made}/test.conllu", "test.conllu: --out"),
    ("augment", "--out {made}/test.conllu --data none.conllu", "none.conllu: no such file"),
    ("augment", "--operations typos", "--attack", "--operations"),
    ("evaluate", "--checkpoint+ {made}/tiny.ckpt", "tiny.ckpt: --checkpoint", "twice"),
    ("evaluate", "--seed -1", "--seed", "-1"),
    ("evaluate", "--perturbed typos,casing,Typos", "--perturbed: got typos twice"),
    ("evaluate", "--limit some", "limit: ", "int", "some"),
    ("evaluate", "--limit #3", "limit: ", "int", "#3"),
    ("evaluate", "--device CPU", "--device CPU: not the name of a device"),
    ("evaluate", "--columns text label", "columns: ", "such as '[a, b]'"),
    ("evaluate", "--punctuation some", "punctuation: ", "penn", "some"),
    ("evaluate", "--max-length 9", "--max-length", "did you mean --max_length?"),
    ("evaluate", "--checkpoints a", "--checkpoints", "did you mean --checkpoint?"),
    ("evaluate", "--limi 3", "--limi", "did you mean --limit?"),
    ("evaluate", "--limit= --out out", "--limit: got ''; expected a value"),
    ("evaluate", "--out=", "--out: got ''", "leave the option out"),
    ("evaluate", "--config /dev/zero", "/dev/zero: a device that never ends"),
    ("evaluate", "--data", "--data"),
    ("evaluate", "--data {made}", "a folder"),
    ("evaluate", "--config {made}/missing.yaml", "missing.yaml: --config"),
    ("evaluate", "--config {made}/test.conllu", "test.conllu"),
    ("evaluate", "--config experiment/sud_biaffine", "did you mean experiment/ud_biaffine?"),
    ("evaluate", "--hypothesis_only missing.ckpt", "missing.ckpt: no such checkpoint"),
    ("", "evaluate --data sample", "checkpoint"),
    ("", "nosuch", "'nosuch'"),
    (
        *("", "substitutes --sources typos --task tags --data sample --columns [a,b] --out x"),
        "--columns",
    ),
    ("", "evaluat", "did you mean evaluate?"),
    ("", "annotate nosuch", "annotate", "'nosuch'"),
    ("fit", "--config missing.yaml", "missing.yaml: --config"),
    ("fit", "--config .", "a folder"),
    ("fit", "--config", "--config"),
    ("fit", "--nonsense 3", "--nonsense"),
    ("fit", "--trainer.max_epoch 3", "did you mean --trainer.max_epochs?"),
    ("fit", "--model.init_args.arc_dims 3", "model.arc_dims: ", "BiaffineParser"),
    ("", "fit", "model"),
    ("fit", "--data.batches x", "robustparse: data.batches: "),
    ("fit", "--data.max_length 1", "max_length"),
    ("fit", "--data.init_args.batches.words x", "data.batches.words: ", "int", "x"),
    ("fit", "--data.max_lenght 9", "data.max_lenght: ", "did you mean max_length?"),
    ("fit", "--columns [a,b]", "data.columns: ", "TreebankDataModule"),
    ("fit", "--trainer.default_root_dir good.yaml/run", "good.yaml"),
    ("fit", "--data.init_args.seed -1", "seed", "-1"),
    ("fit", "--data.init_args.min_count -3", "min_count", "-3"),
    ("fit", "--max_length 0", "max_length", "0"),
    ("fit", "--model.init_args.seed -1", "model: seed", "-1"),
    ("fit", "--model.init_args.arc_dim 0", "arc_dim", "0"),
    ("fit", "--model.init_args.dropout 1.0", "dropout", "1.0"),
    ("fit", "--model.init_args.optimization.betas [1.5,0.9]", "betas", "1.5"),
    ("fit", "--trainer.accumulate_grad_batches 0", "trainer.accumulate_grad_batches", "0"),
    ("fit", "--trainer.gradient_clip_val .nan", "trainer.gradient_clip_val", "nan"),
    ("fit", "--model.encoder.hidden", "--model.encoder.hidden: has no value"),
    ("fit", "--trainer.callbacks.epsilon 3", "--trainer.callbacks.epsilon: no class before it"),
    ("fit", "--data.batches [3]", "robustparse: --data.batches: "),
    ("fit", "--seed_everything=-1", "seed_everything must be >= 0", "-1"),
    ("fit", "--trainer.default_root_dir=", "--trainer.default_root_dir: got ''"),
    ("fit", "--ckpt_path=", "--ckpt_path: got ''"),
    (
        "fit",
        "--trainer.logger robustparse.tracking.WandbLogger --trainer.logger.init_args.projekt x",
        *("trainer.logger.projekt: ", "did you mean project?"),
    ),
    ("fit", "--trainer.max_steps -1 --trainer.max_epochs -1", "trainer.max_steps"),
]


@pytest.mark.parametrize(("command", "options", "shown"), [(a, b, c) for a, b, *c in OPTIONS])
def test_a_wrong_option(command, options, shown, base, made, tmp_path, capsys):
    before = sorted(tmp_path.iterdir())
    given = base[command]
    if options.startswith("--data {made}"):  # instead of other data
        at = given.index("--data")
        given = given[:at] + given[at + 2 :]
    error = mistake(capsys, *given, *options.format(made=made).split())
    assert all(text in error for text in shown), error
    if command in ("augment", "evaluate"):
        assert sorted(tmp_path.iterdir()) == before


LACKING = [
    ("predict", "checkpoint"),
    ("attack --attack pwws", "data", "out"),
    ("augment", "data", "out"),
    ("evaluate", "data"),
    ("transfer", "folders"),
    ("measure", "folder"),
    ("annotate export", "folder"),
    ("fit", "data", "model"),
    ("fit --data.init_args.folder X", "data: ", "DataModule", "--data CLASS"),
    ('fit --model {"init_args":{"filters":4}}', "model: there is no class_path"),
    (
        "attack --attack.search.init_args.gamma 0.1 --attack pwws --checkpoint x --data sample",
        *("attack.search.gamma: ", "robustparse.attacks.PWWS"),
    ),
]


@pytest.mark.parametrize(("command", "shown"), [(a, b) for a, *b in LACKING])
def test_what_is_missing_is_named(command, shown, capsys):
    Path("x").touch()
    Path("X").mkdir()
    error = mistake(capsys, *command.split())
    assert all(text in error for text in shown), error


def searched(search: str, **settings: object) -> str:
    found = f"search: {{class_path: {ROOM}.{search}, init_args: {json.dumps(settings)}}}"
    return RECIPE.replace(f"search: {{class_path: {ROOM}.Zheng2020}}", found)


def changed(old: str, new: str) -> str:
    assert old in RECIPE
    return RECIPE.replace(old, new)


# A recipe, and what the message shows, as a pattern.
RECIPES = [
    ("# nothing but a comment\n", "recipe.yaml: .*candidates"),
    ("- beam\n", "recipe.yaml: .*candidates"),
    (f"search: {{class_path: {ROOM}.Beam}}", "recipe.yaml:1: attack: .*Attack.*candidates"),
    (
        changed("TrainingWords", "Lexicon").replace("{sample: 5}", "{}"),
        r"recipe.yaml:\d+: attack.candidates: .*Lexicon.*table",
    ),
    (
        changed("{sample: 5}", "{samples: 5}"),
        r"recipe.yaml:\d+: attack.candidates.samples: .*TrainingWords.*mean sample\?",
    ),
    (
        changed("{sample: 5}", "{sample: many}"),
        r"recipe.yaml:\d+: attack.candidates.sample: .*int.*many",
    ),
    (changed("search: {class_path", "search: {class"), "recipe.yaml:8: attack.search: "),
    (changed("search:", "searches:"), r"recipe.yaml:8: attack.searches: .*mean search\?"),
    (changed("goal:", "goal: {"), "recipe.yaml:3: not YAML"),
    (changed("robustparse.attacks.AttachmentDrop", "os.system"), "recipe.yaml:2: .*os.system"),
    (searched("Zheng2020", gamma=1.5), "gamma .*1.5"),
    (searched("Wang2021", gamma=1.01), "gamma .*1.01"),
    (searched("Beam", width=0), "width .*0"),
    (searched("Beam", width=2.5), "recipe.yaml:8: attack.search.width: .*2.5"),
    (searched("Genetic", population=0), "population .*0"),
    (searched("ParticleSwarm", iterations=0), "iterations .*0"),
    (searched("Broom"), r"recipe.yaml:8: attack.search.class_path: .*Broom"),
    (searched("bean.Beam"), r"recipe.yaml:8: .*bean.Beam.*robustparse.attacks.Beam"),
    (changed("TrainingWords", "TrainedWords"), "recipe.yaml:4: .*did you mean TrainingWords"),
    (changed(f"{ROOM}.T", "no.T"), "recipe.yaml:4: .*no.TrainingWords.*--trust no"),
    (changed(f"{ROOM}.TrainingWords", "Beam"), "recipe.yaml:4: .*Beam.* CandidateGenerator"),
    (changed(f"{ROOM}.Zheng2020", "Beem"), "recipe.yaml:8: .*Beem.*did you mean Beam"),
    (constrained("PerplexityRise", "{most: 3}"), "language_model"),
    (
        changed("TrainingWords", "MaskedLM").replace(
            "{sample: 5}", "{model: some-model, device: gpu}"
        ),
        "device gpu: .*auto, cpu or cuda",
    ),
]


@pytest.mark.parametrize(("recipe", "shown"), RECIPES)
def test_a_wrong_recipe(recipe, shown, made, tmp_path, capsys):
    error = mistake(capsys, *attack_by(made, tmp_path, recipe))
    assert re.search(shown, error), error
    assert list(read_records(tmp_path / "out" / "examples.jsonl")) == []


def test_a_configuration_cannot_name_an_installed_recipe(made, capsys):
    Path("attack.yaml").write_text("attack: pwws\n")
    given = ["--checkpoint", f"{made}/tiny.ckpt", "--data", f"{made}/test.conllu", "--out", "out"]
    error = mistake(capsys, "attack", "--config", "attack.yaml", *given)
    assert "attack.yaml:1: attack: " in error
    assert "--attack pwws on the command line" in error


def test_a_table_of_synonyms_that_is_none(made, tmp_path, capsys):
    Path("table.json").write_text('{"big": ["large",\n')
    error = mistake(capsys, *attack_by(made, tmp_path, LEXICON))
    assert "table.json:2: not JSON" in error
    assert not Path("out").exists()


EXTRAS = [
    ("sentence_transformers", "SentenceSimilarity", "{model: some-encoder}"),
    ("language_tool_python", "GrammarErrors", f"{{checker: {{class_path: {ROOM}.LanguageTool}}}}"),
    ("spacy", "PipelineTag", "{library: spacy}"),
]


@pytest.mark.parametrize(("library", "name", "settings"), EXTRAS)
def test_an_extra_that_is_not_installed(
    library, name, settings, made, tmp_path, capsys, monkeypatch
):
    def missing(name: str) -> None:
        raise ImportError(f"no module named {name}")

    if library == "spacy":  # other libraries look for it too
        monkeypatch.setattr(errors, "import_module", missing)
    else:
        monkeypatch.setitem(sys.modules, library, None)
    trusted = ("--trust", "java")
    error = mistake(capsys, *attack_by(made, tmp_path, constrained(name, settings), *trusted))
    needed = '"robustparse[similarity]"' if name == "SentenceSimilarity" else library
    assert f"run `pip install {needed}" in error


TAGS = [
    ("AttackableTags", "{tags: [NN, NOUN]}", "attackable tags: no word of the data has NOUN;"),
    ("AttackableTags", "{tags: any}", ""),
    ("AttackableTags", "{}", ""),
    ("ForbiddenTags", "{tags: [NN, DET]}", "forbidden tags: no word of the data has DET;"),
    ("ForbiddenTags", "{}", ""),
    (
        "ForbiddenRelations",
        "{relations: [punct, SBJ, root]}",
        "forbidden relations: no word of the data has SBJ;",
    ),
]


@pytest.mark.parametrize(("name", "settings", "says"), TAGS)
def test_tags_that_the_data_do_not_have(name, settings, says, made, tmp_path, capsys):
    main(attack_by(made, tmp_path, constrained(name, settings), "--limit", 3))
    found = capsys.readouterr().err
    assert found.count("no word of the data has") == (1 if says else 0)
    assert says in found
    if says:
        assert re.search(r"its words have .*(NN|root)\b", found)


def test_an_attack_that_can_change_nothing(made, tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(attack_by(made, tmp_path, constrained("AttackableTags", "{tags: [UH]}")))
    error = capsys.readouterr().err
    assert "no word of 12 sentences could be attacked (XPOS tags of the data: " in error
    lines = list(read_records(tmp_path / "out" / "examples.jsonl"))
    assert [line["id"] for line in lines] == list(range(12))
    for line in lines:
        assert line["adversarial_tokens"] == line["tokens"]
        assert (line["success"], line["edited"]) == (False, [])
        assert line["attacked"] == line["clean"]


def test_a_model_that_is_not_there_and_then_is_another(base, tmp_path, capsys):
    generator = "--attack.candidates.init_args.generator.init_args.model"
    options = ["--attack", "zheng2020_blackbox", generator, tmp_path / "no" / "model"]
    options += ["--attack.candidates.init_args.path", "cache.sqlite"]
    error = mistake(capsys, *base["attack"], *options)
    assert str(tmp_path / "no" / "model") in error
    main([*base["attack"], "--limit", "2"])  # nothing was finished in the folder
    assert json.loads(Path("out/summary.json").read_text())["attack"] == "words"


@pytest.mark.parametrize("name", [*TREEBANKS, "missing"])
@pytest.mark.parametrize("command", ["attack", "evaluate"])
def test_a_broken_treebank(command, name, base, tmp_path, capsys):
    content, says = TREEBANKS.get(name, (None, ": no such file"))
    path = tmp_path / f"{name}.conllu"
    if content is not None:
        path.write_bytes(content)
    error = mistake(capsys, *base[command], "--data", path, "--out", "out")
    assert f"{path}{says}" in error
    assert not Path("out").exists()


@pytest.mark.parametrize("command", ["attack", "evaluate"])
def test_a_broken_checkpoint_is_never_executed(command, base, made, tmp_path, capsys):
    Path("good.conllu").write_text(GOOD)
    for name, says in broken_checkpoints(tmp_path, made / "tiny.ckpt").items():
        given = ["--data", "good.conllu", "--checkpoint", f"{name}.ckpt", "--out", "out"]
        error = mistake(capsys, *(word for word in without(base[command])), *given)
        assert f"{name}.ckpt" in error
        assert says in error
    assert not Path("pwned").exists()
    assert not Path("out").exists()


def without(arguments: list[str]) -> list[str]:
    """Arguments without their checkpoint: another one would join it in an ensemble."""
    at = arguments.index("--checkpoint")
    return arguments[:at] + arguments[at + 2 :]


def test_data_without_tags(made, tmp_path, capsys):
    path = tmp_path / "untagged.conllu"
    path.write_text(GOOD + GOOD.replace("\tNOUN\tNN\t", "\t_\t_\t"))
    error = mistake(capsys, *attack_by(made, tmp_path, RECIPE, "--data", path))
    assert f"{path}:4: sentence 2: no tag for every word" in error
    assert not Path("out").exists()


CONFIGURATIONS = [
    ("nonsense: [", "bad.yaml:", "not YAML"),
    ("trainer:\n  max_epochs: 3\n bad\n", "bad.yaml:3", "not YAML"),
    ("", "bad.yaml", "empty"),
    ("- a\n- b\n", "bad.yaml", "keys"),
    (b"trainer: \xff\xfe", "bad.yaml"),
    ("trainer: {default_root_dir: null}", "trainer.default_root_dir"),
    ("trainer: {default_root_dir: ''}", "trainer.default_root_dir"),
    ("data: {class_path: TextDataModule, init_args: {folder: sample}}", "the task dependency"),
    ("trainer: {no_such_key: 1}", "bad.yaml:1: ", "trainer.no_such_key"),
    ("trainer:\n  device: 1", "bad.yaml:2: ", "trainer.device", "devices?"),
    (
        "data:\n  init_args:\n    batches:\n      word: 9",
        *("bad.yaml:4: data.batches.word: ", "mean words?"),
    ),
    ("model:\n  init_args:\n    arc_dim: 010", "bad.yaml:3: YAML reads 010 as 8"),
    ("model:\n  init_args: {clusters: [{no: 1}]}", "bad.yaml:2: YAML reads the key no"),
    ("trainer:\n  max_time: 12:00:00:00", "bad.yaml:2: YAML reads 12:00:00:00 as 2592000"),
    ("data: {init_args: {batches: good.yaml}}", "data.batches: the name of a file, good.yaml"),
    ("data: {init_args: {batches: gone.yaml}}", "data.batches: gone.yaml: no such file"),
    ("trainer:\n  callbacks: [FGM]\n  callbacks+: [FGM]\n", "bad.yaml:3: ", "callbacks"),
    ("trainer:\n  callbacks+: [FGM]\n  callbacks: [FGM]\n", "bad.yaml:3: ", "callbacks"),
    (
        "trainer: {max_steps: 2}\nconfig:\n  - good.yaml\n  - gone.yaml\n",
        "bad.yaml:4: ",
        "gone.yaml",
    ),
    ("no_such_key: 1", "bad.yaml", "no_such_key"),
    ("trainer.max_steps: 2\ntrainer: {max_epochs: 1}", "bad.yaml:1: trainer.max_steps: "),
    (
        "model:\n  encoder.hidden: 8\n  encoder: {class_path: LSTMEncoder}",
        "bad.yaml:2: model.encoder.hidden: is replaced by encoder",
    ),
    ("fit:\n  trainer: {max_steps: 3}\n", "bad.yaml:1: fit: ", "leave out `fit:`"),
    ("trainer: {callbacks: [Beam]}", "bad.yaml:1: trainer.callbacks: ", "Beam"),
    ("trainer: {max_epochs: many}", "bad.yaml:1: trainer.max_epochs: ", "int", "many"),
    ("trainer: {accelerator: abacus}", "trainer", "abacus"),
    ("trainer: {precision: 12}", "trainer.precision", "12"),
    ("trainer: {devices: 0}", "devices=0"),
    ("trainer: {limit_val_batches: -3}", "limit_val_batches", "-3"),
    ("trainer: {val_check_interval: 9999}", "val_check_interval", "9999"),
    ("trainer: {max_steps: -7}", "max_steps", "-7"),
    ("trainer: {check_val_every_n_epoch: 0}", "check_val_every_n_epoch must be >= 1, got 0"),
    ("trainer: {val_check_interval: 0}", "val_check_interval", "got 0", "limit_val_batches"),
    ("last_checkpoint: {every_n_train_steps: 0}", "every_n_train_steps", "got 0"),
    ("data: {init_args: {batches: {words: -5}}}", "words", "-5"),
    ("data: {init_args: {batches: {words: 3}}}", "batches.words: 3, and sentence"),
    ("data: {init_args: {fodler: x}}", "bad.yaml:1: data.fodler: ", "mean folder?"),
    ("data: {init_args: {folder: null}}", "no training data to take the vocabulary from"),
    ("data: {init_args: {folder: nowhere}}", "nowhere", "no such folder"),
    ("data: {init_args: {train_file: gone.conllu}}", "gone.conllu", "no such file"),
    ("model: {init_args: {optimization: {learning_rate: -1}}}", "learning_rate", "-1"),
    ("model: {init_args: {optimization: {speed: 1}}}", "optimization", "speed"),
    ("model: {init_args: {init_from: gone.ckpt}}", "gone.ckpt: init_from: no such checkpoint"),
    ("model: {init_args: {dropout: high}}", "dropout", "high"),
    ("model: {init_args: {dropout: null}}", "bad.yaml:1: model.dropout: got null", "leave it out"),
    ("model: {init_args: {optimization: [linear]}}", "model.optimization", "not of a type"),
    ("data: {init_args: {min_count: null}}", "bad.yaml:1: data.min_count: got null"),
    ("data: {init_args: {batches: {words: null}}}", "bad.yaml:1: data.batches.words: got null"),
    ("trainer: {max_steps: null}", "bad.yaml:1: trainer.max_steps: got null"),
    ("data:\n  init_args:\n", "bad.yaml:2: data.init_args: got nothing"),
    (
        "model:\n  class_path: robustparse.models.BiaffineParser\n  arc_dim: 8\n",
        *("bad.yaml:3: model.arc_dim: stands next to class_path", "below init_args"),
    ),
    ("model: gone.yaml", "bad.yaml:1: model: gone.yaml: no such file"),
    ("model: {class_path: biaffineparser}", "bad.yaml:1: ", "did you mean BiaffineParser?"),
    ("model: {class_path: robustparse.models.NoSuch}", "bad.yaml:1: model.class_path", "NoSuch"),
    ("model: {class_path: robustparse.data.TreebankDataModule}", "model", "TreebankDataModule"),
    (
        "trainer: {callbacks: [{class_path: FGM, init_args: {epsilon: -1.0}}]}",
        *("epsilon", "-1"),
    ),
    (
        "trainer: {callbacks: [{class_path: PGD, init_args: {epsilonn: 1.0}}]}",
        *("bad.yaml:1: trainer.callbacks.epsilonn: ", "PGD", "did you mean epsilon?"),
    ),
    (
        "trainer: {callbacks: [{class_path: EarlyStopping, init_args: {monitor: nothing}}], "
        "limit_train_batches: 2, max_steps: 4}",
        "nothing",
    ),
    ("model: {init_args: [1, 2]}", "bad.yaml:1: model.init_args: ", "a list"),
    ("trainer: {callbacks: [[FGM]]}", "trainer.callbacks: ", "type"),
    ("lr_scheduler: {class_path: StepLR, init_args: {step_size: 3}}", "optimization.schedule"),
]


@pytest.mark.parametrize(("content", "says"), [(one, rest) for one, *rest in CONFIGURATIONS])
def test_a_wrong_configuration(content, says, base, capsys):
    if isinstance(content, bytes):
        Path("bad.yaml").write_bytes(content)
    else:
        Path("bad.yaml").write_text(content)
    error = mistake(capsys, *base["fit"], "--config", "bad.yaml")
    assert all(part in error for part in says), error


def test_lightnings_own_optimizer_is_told_of(base, capsys):
    """It has neither the schedule of the configuration nor its rate of pretrained weights."""
    short = ("--trainer.max_steps", "1", "--trainer.limit_val_batches", "0")
    main([*base["fit"], *short, "--trainer.default_root_dir", "run", "--optimizer", "AdamW"])
    assert "--optimizer takes the place of model.init_args.optim" in capsys.readouterr().err


def test_a_class_whose_library_is_not_installed(base, capsys, monkeypatch):
    monkeypatch.setattr("lightning_fabric.loggers.tensorboard._TENSORBOARD_AVAILABLE", False)
    monkeypatch.setattr("lightning_fabric.loggers.tensorboard._TENSORBOARDX_AVAILABLE", False)
    logger = ("--trainer.logger", "TensorBoardLogger", "--trainer.logger.save_dir", "logs")
    assert "pip install" in mistake(capsys, *base["fit"], *logger)
    monkeypatch.setattr("pytorch_lightning.callbacks.device_stats_monitor._PSUTIL_AVAILABLE", False)
    monitor = ("--trainer.callbacks", "DeviceStatsMonitor", "--trainer.max_steps", "1")
    assert "`psutil` is not installed" in mistake(capsys, *base["fit"], *monitor)


class Hostile:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch pwned",)


def test_checkpoints_that_lightnings_commands_cannot_use(base, capsys):
    torch.save({"state_dict": Hostile()}, "evil.ckpt")
    Path("pickle.ckpt").write_bytes(pickle.dumps(Hostile()))
    Path("cut.ckpt").write_bytes(Path("evil.ckpt").read_bytes()[:200])
    Path("noise.ckpt").write_bytes(os.urandom(64))
    Path("empty.ckpt").touch()
    torch.save({"state_dict": {}}, "other.ckpt")
    names = ("evil", "pickle", "cut", "noise", "empty", "other", "missing")
    commands: list[tuple[str, Any]] = [("fit", name) for name in names]
    commands += [(command, "evil") for command in ("validate", "test")]
    for command, name in commands:
        arguments = [command, *base["fit"][1:], "--ckpt_path", f"{name}.ckpt"]
        assert f"{name}.ckpt" in mistake(capsys, *arguments)
    assert not Path("pwned").exists()
    for command, limit in (("validate", "limit_val_batches"), ("test", "limit_test_batches")):
        arguments = [command, *base["fit"][1:]]
        assert f"{command} scores nothing" in mistake(capsys, *arguments, f"--trainer.{limit}=0")
        assert "--ckpt_path" in mistake(capsys, *arguments)
        assert "best.ckpt" in mistake(capsys, *arguments, "--ckpt_path", "best")
        assert "last.ckpt" in mistake(capsys, *arguments, "--ckpt_path", "last")


def test_our_own_faults_keep_their_traceback(base, monkeypatch):
    def broken(*_: object) -> None:
        raise KeyError("a fault of ours")

    monkeypatch.setattr("robustparse.data.TreebankDataModule.examples", broken)
    with pytest.raises(KeyError, match="a fault of ours"):
        main(base["fit"])


def test_dropout_resumes_with_as_many_processes_only(base, capsys):
    """Unless it may draw other masks; without dropout there are none."""
    for dropout in ("0.0", "0.33"):
        rates = [f"--model.init_args.{part}dropout" for part in ("", "encoder.init_args.")]
        command = fit(Path("good.yaml"), Path(dropout))
        command += [part for rate in rates for part in (rate, dropout)]
        main([*command, "--trainer.max_steps", "1"])
        path = Path(dropout, "last.ckpt")
        state = torch.load(path, weights_only=True)
        state["loops"]["fit_loop"]["state_dict"]["combined_loader"][0]["world_size"] = 2
        torch.save(state, path)
        resumed = [*command, "--trainer.max_steps", "2"]
        if dropout != "0.0":
            with pytest.raises(SystemExit, match="2"):
                main(resumed)
            error = capsys.readouterr().err
            assert "trained with 2 processes, now there are 1" in error
            assert "dropout" in error
            assert "data.init_args.batches.allow_world_size_change to true" in error
            resumed += ["--data.init_args.batches.allow_world_size_change", "true"]
        main(resumed)
        assert torch.load(path, weights_only=True)["global_step"] == 2
