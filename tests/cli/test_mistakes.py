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
from robustparse.evaluation.lines import each_line

PARTS = "docs/reference/parts.md lists the classes"
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


OPTIONS = [
    ("attack", "--limit 0", "--limit must be >= 1, got 0"),
    ("attack", "--seed -1", "--seed must be >= 0 and below 2**64, got -1"),
    ("attack", "--attack.seed -1", "--seed must be >= 0 and below 2**64, got -1"),
    ("attack", "--nonsense 1", "--nonsense"),
    ("attack", "--attack no/missing.yaml", "no/missing.yaml: --attack: no such file; give the"),
    ("attack", "--attack missing.yaml", "missing.yaml: --attack: no such file"),
    ("attack", "--attack {{search:", "--attack: not YAML at column 1: "),
    ("attack", "--attack zheng2020", "did you mean zheng2020_blackbox or zheng2020_blackbox_ch"),
    ("attack", "--attack robustparse.attacks.Atack", "did you mean Attack"),
    ("attack", "--attack.search.width 3", "--attack.search.width: no argument of Zheng2020;"),
    ("attack", "--attack.search Beem", "'Beem' is neither a class nor a file; did you mean Beam?"),
    ("attack", "--attack.search.gamma x", "--attack.search.gamma: got x; expected float"),
    ("attack", "--attack.live 0", "live must be >= 1, got 0"),
    ("attack", "--attack.budget 0", "budget must be >= 1, got 0"),
    ("attack", "--attack.budgets 5", "budgets"),
    ("attack", "--out {made}/test.conllu/out", "test.conllu/out: the output folder is not writ"),
    ("attack", "--fraction 1.5", "--fraction must be above 0 and at most 1, got 1.5"),
    ("attack", "--devices 0", "--devices must be >= 1, got 0"),
    ("attack", "--devices many", "devices"),
    ("attack", "--trust", "--trust: names no module"),
    ("augment", "--fraction 0.5 --tokens 0.5", "--fraction counts sentences and --tokens words"),
    ("augment", "--tokens 0", "--tokens must be above 0 and at most 1, got 0.0"),
    ("augment", "--keep some", "some"),
    ("augment", "--out copies.txt", "name a file that ends in .conllu"),
    ("augment", "--out {made}/test.conllu", "is the data file"),
    ("augment", "--out {made}/test.conllu --data none.conllu", "none.conllu: no such file"),
    ("evaluate", "--seed -1", "--seed must be >= 0 and below 2**64, got -1"),
    ("evaluate", "--limit some", "--limit: got some; expected int"),
    ("evaluate", "--punctuation some", "--punctuation: got some; expected one of none, penn"),
    ("evaluate", "--max-length 9", "--max-length: no such option; did you mean --max_length?"),
    ("evaluate", "--checkpoints a", "--checkpoints: no such option; did you mean --checkpoint?"),
    ("evaluate", "--limi 3", "--limi: no such option; did you mean --limit?"),
    ("evaluate", "--data", "--data: needs a value"),
    ("evaluate", "--data {made}", "a folder; expected a file"),
    ("evaluate", "--config {made}/missing.yaml", "missing.yaml: --config: no such file"),
    ("evaluate", "--config {made}/test.conllu", "test.conllu"),
    ("evaluate", "--config experiment/sud_biaffine", "did you mean experiment/ud_biaffine?"),
    ("", "evaluate --data sample", "checkpoint"),
    ("", "nosuch", "unknown command 'nosuch'"),
    ("", "annotate nosuch", "annotate: 'nosuch'; expected export or score"),
    ("fit", "--config missing.yaml", "missing.yaml"),
    ("fit", "--config .", "a folder; expected a file"),
    ("fit", "--config", "--config"),
    ("fit", "--nonsense 3", "--nonsense: no such option"),
    ("fit", "--trainer.max_epoch 3", "no such option; did you mean --trainer.max_epochs?"),
    ("fit", "--model.init_args.arc_dims 3", "--model.init_args.arc_dims: no argument of Biaff"),
    ("", "fit", "model"),
    ("fit", "--data.init_args.batch_words x", "batch_words"),
    ("fit", "--trainer.default_root_dir good.yaml/run", "good.yaml"),
    ("fit", "--data.init_args.seed -1", "data: seed must be >= 0 and below 2**64, got -1"),
    ("fit", "--data.init_args.min_count -3", "min_count must be >= 1, got -3"),
    ("fit", "--data.init_args.max_length 0", "max_length must be >= 1, got 0"),
    ("fit", "--model.init_args.seed -1", "model: seed must be >= 0 and below 2**64, got -1"),
    ("fit", "--model.init_args.arc_dim 0", "arc_dim must be >= 1"),
    ("fit", "--model.init_args.dropout 1.0", "dropout must be in [0, 1)"),
    ("fit", "--model.init_args.optimization.betas [1.5,0.9]", "betas must be in [0, 1)"),
    ("fit", "--trainer.accumulate_grad_batches 0", "accumulate_grad_batches must be >= 1, got 0"),
    (
        "fit",
        "--trainer.logger robustparse.tracking.WandbLogger --trainer.logger.init_args.projekt x",
        "robustparse: --trainer.logger.init_args.projekt: no argument of WandbLogger; did you mean",
    ),
    ("fit", "--trainer.max_steps -1 --trainer.max_epochs -1", "set trainer.max_steps or"),
]


@pytest.mark.parametrize(("command", "options", "says"), OPTIONS)
def test_a_wrong_option(command, options, says, base, made, tmp_path, capsys):
    before = sorted(tmp_path.iterdir())
    given = options.format(made=made).split()
    assert says in mistake(capsys, *base[command], *given)
    if command in ("augment", "evaluate"):
        assert sorted(tmp_path.iterdir()) == before


LACKING = [
    ("predict", "--checkpoint: missing"),
    ("attack --attack pwws", "--data, --out: missing"),
    ("augment", "--data, --out: missing"),
    ("evaluate", "--data: missing"),
    ("transfer", "FOLDERS, --checkpoint: missing"),
    ("measure", "FOLDER: missing"),
    ("annotate export", "FOLDER: missing"),
    ("fit", "--data, --model: missing"),
    (
        "fit --data.init_args.folder X",
        "data: DataModule is a base class; expected a class that derives from it, or a file with",
    ),
    (
        "attack --attack.search.init_args.gamma 0.1 --attack pwws --checkpoint x --data sample",
        "attack.search: Search is a base class; expected a class that derives from it, or a file",
    ),
]


@pytest.mark.parametrize(("command", "says"), LACKING)
def test_what_is_missing_is_named_as_it_would_be_typed(command, says, capsys):
    assert f"robustparse: {says}" in mistake(capsys, *command.split())


def searched(search: str, **settings: object) -> str:
    found = f"search: {{class_path: {ROOM}.{search}, init_args: {json.dumps(settings)}}}"
    return RECIPE.replace(f"search: {{class_path: {ROOM}.Zheng2020}}", found)


def changed(old: str, new: str) -> str:
    assert old in RECIPE
    return RECIPE.replace(old, new)


RECIPES = [
    ("# nothing but a comment\n", "recipe.yaml: holds no settings .*a mapping with `candidates`"),
    ("- beam\n", "recipe.yaml: is no recipe; .*a mapping with `candidates`"),
    (f"search: {{class_path: {ROOM}.Beam}}", "recipe.yaml: candidates: missing; Attack needs it"),
    (
        changed("TrainingWords", "Lexicon").replace("{sample: 5}", "{}"),
        "recipe.yaml: candidates.init_args.table: missing; Lexicon needs it",
    ),
    (
        changed("{sample: 5}", "{samples: 5}"),
        "recipe.yaml: candidates.init_args.samples: no argument",
    ),
    (changed("{sample: 5}", "{sample: many}"), "recipe.yaml: .*many"),
    (changed("search: {class_path", "search: {class"), "recipe.yaml: .*search"),
    (changed("search:", "searches:"), "recipe.yaml: .*searches"),
    (changed("goal:", "goal: {"), r"recipe.yaml:3: not YAML at column 1: .* from line 2 on"),
    (changed("robustparse.attacks.AttachmentDrop", "os.system"), r"recipe.yaml:2: .*os.system"),
    (searched("Zheng2020", gamma=1.5), r"gamma must be in \(0, 1\], got 1.5"),
    (searched("Wang2021", gamma=1.01), r"gamma must be in \(0, 1\], got 1.01"),
    (searched("Beam", width=0), "width must be >= 1, got 0"),
    (searched("Beam", width=2.5), "width"),
    (searched("Genetic", population=0), "population must be >= 1, got 0"),
    (searched("ParticleSwarm", iterations=0), "iterations must be >= 1, got 0"),
    (searched("Broom"), rf"recipe.yaml:8: search.class_path: .*Broom is not.*{PARTS}"),
    (searched("bean.Beam"), "bean.Beam is an older name; write robustparse.attacks.Beam"),
    (changed("TrainingWords", "TrainedWords"), f"did you mean TrainingWords.*{PARTS}"),
    (changed(f"{ROOM}.T", "no.T"), "the class no.TrainingWords is not trusted.*--trust no"),
    (changed(f"{ROOM}.Zheng2020", "Beem"), f"Beem is not a class.*did you mean Beam.*{PARTS}"),
    (constrained("PerplexityRise", "{most: 3}"), "language_model"),
    (
        changed("TrainingWords", "MaskedLM").replace(
            "{sample: 5}", "{model: some-model, device: gpu}"
        ),
        "device gpu: .*expected auto, cpu or cuda",
    ),
]


@pytest.mark.parametrize(("recipe", "says"), RECIPES)
def test_a_wrong_recipe(recipe, says, made, tmp_path, capsys):
    error = mistake(capsys, *attack_by(made, tmp_path, recipe))
    assert re.search(says, error), error
    assert (PARTS in error) == (PARTS in says)
    assert list(each_line(tmp_path / "out" / "examples.jsonl")) == []


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
    lines = list(each_line(tmp_path / "out" / "examples.jsonl"))
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
    ("trainer: {no_such_key: 1}", "bad.yaml", "trainer.no_such_key"),
    ("no_such_key: 1", "bad.yaml", "no_such_key"),
    ("trainer: {max_epochs: many}", "trainer.max_epochs", "int", "many"),
    ("trainer: {accelerator: abacus}", "trainer", "abacus"),
    ("trainer: {precision: 12}", "trainer.precision", "12"),
    ("trainer: {devices: 0}", "devices=0"),
    ("trainer: {limit_val_batches: -3}", "limit_val_batches", "-3"),
    ("trainer: {val_check_interval: 9999}", "val_check_interval", "9999"),
    ("trainer: {max_steps: -7}", "max_steps", "-7"),
    ("trainer: {check_val_every_n_epoch: 0}", "check_val_every_n_epoch must be >= 1, got 0"),
    ("trainer: {val_check_interval: 0}", "val_check_interval", "got 0", "limit_val_batches"),
    ("last_checkpoint: {every_n_train_steps: 0}", "every_n_train_steps", "got 0"),
    ("data: {init_args: {batch_words: -5}}", "batch_words", "-5"),
    ("data: {init_args: {batch_words: 3}}", "batch_words: 3, and sentence"),
    ("data: {init_args: {fodler: x}}", "fodler"),
    ("data: {init_args: {folder: null}}", "no training data to take the vocabulary from"),
    ("data: {init_args: {folder: nowhere}}", "nowhere", "no such folder"),
    ("data: {init_args: {train_file: gone.conllu}}", "gone.conllu", "no such file"),
    ("model: {init_args: {optimization: {learning_rate: -1}}}", "learning_rate", "-1"),
    ("model: {init_args: {optimization: {speed: 1}}}", "optimization", "speed"),
    ("model: {init_args: {init_from: gone.ckpt}}", "gone.ckpt: init_from: no such checkpoint"),
    ("model: {init_args: {dropout: high}}", "dropout", "high"),
    ("model: {class_path: robustparse.models.NoSuch}", "bad.yaml:1: model.class_path", "NoSuch"),
    ("model: {class_path: robustparse.data.TreebankDataModule}", "model", "TreebankDataModule"),
    (
        "trainer: {callbacks: [{class_path: FGM, init_args: {epsilon: -1.0}}]}",
        *("epsilon", "-1"),
    ),
    (
        "trainer: {callbacks: [{class_path: PGD, init_args: {epsilonn: 1.0}}]}",
        *("epsilonn: no argument of PGD", "did you mean epsilon?"),
    ),
    (
        "trainer: {callbacks: [{class_path: EarlyStopping, init_args: {monitor: nothing}}], "
        "max_steps: 40}",
        "nothing",
    ),
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
            assert "data.init_args.allow_world_size_change to true" in error
            resumed += ["--data.init_args.allow_world_size_change", "true"]
        main(resumed)
        assert torch.load(path, weights_only=True)["global_step"] == 2
