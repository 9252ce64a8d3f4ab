"""``robustparse augment``: copies with gold trees, counted, resumable; and training on them."""

import json
from pathlib import Path

import pytest
import yaml
from command_runs import RECIPE, checkpoint, mistake, ranks, stop_after, table
from tiny_runs import fit, write_config

from robustparse import augment
from robustparse.cli.main import main
from robustparse.data.conllu import read_treebank
from robustparse.data.fractions import draw_fraction
from robustparse.evaluation.example_records import read_records
from robustparse.evaluation.perturbed import idle
from robustparse.perturbations import Casing, Typos
from sample_runs import SPEED, sentences, write_sample

CONFIGS = Path(__file__).parents[2] / "configs"
SHIPPED = CONFIGS / "experiment" / "ewt_biaffine_augmented.yaml"
SENTENCES = 14


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a checkpoint, a training file and a recipe."""
    folder = tmp_path_factory.mktemp("made")
    checkpoint(folder)
    write_sample(folder / "train.conllu", sentences(SENTENCES))
    (folder / "words.yaml").write_text(RECIPE)
    return folder


def arguments(made: Path, out: Path, *more: object) -> list[str]:
    given = {"attack": made / "words.yaml", "checkpoint": made / "tiny.ckpt"}
    given |= {"out": out} if "--data" in more else {"data": made / "train.conllu", "out": out}
    options = [str(part) for key, value in given.items() for part in (f"--{key}", value)]
    return ["augment", *options, *map(str, more)]


def summary(path: Path) -> dict:
    return json.loads(path.with_name(f"{path.name}.summary.json").read_text())


def words_of(path: Path) -> list[tuple[str, ...]]:
    return [example.sentence.words for example in read_treebank(path)]


def test_copies_are_those_of_the_attack_with_gold_trees(made, tmp_path, capsys):
    attacked = arguments(made, tmp_path / "attacked", "--seed", 3)[1:]
    main(["attack", *attacked])
    shown = table(capsys.readouterr().out)["attacked"]
    path = tmp_path / "copies.conllu"
    main(arguments(made, path, "--seed", 3, "--keep", "all"))
    captured = capsys.readouterr()
    assert table(captured.out)["tiny"] == shown
    assert path.read_bytes() == (tmp_path / "attacked" / "adversarial.conllu").read_bytes()
    lines = list(read_records(tmp_path / "attacked" / "examples.jsonl"))
    for copy, original, line in zip(read_treebank(path), sentences(SENTENCES), lines, strict=True):
        assert copy.gold == original.gold
        assert copy.sentence.xpos == original.sentence.xpos
        assert list(copy.sentence.words) == line["adversarial_tokens"]
    found, first = summary(path), json.loads((tmp_path / "attacked/summary.json").read_text())
    for key in ("attack", "seed", "clean", "attacked", "success_rate", "n_sentences"):
        assert found[key] == first[key]
    assert f"{SENTENCES} copies in" in captured.out


def test_only_what_changed_is_kept_unless_all_is(made, tmp_path):
    budget = ["--attack.search.init_args.harmless", "skip", "--attack.budget", 8]
    path = tmp_path / "copies.conllu"
    main(arguments(made, path, *budget))
    lines = list(read_records(tmp_path / "copies.attack" / "examples.jsonl"))
    changed = [line["adversarial_tokens"] for line in lines if line["edited"]]
    assert 0 < len(changed) < SENTENCES
    assert [list(words) for words in words_of(path)] == changed
    found = summary(path)
    assert (found["n_copies"], found["n_changed"]) == (len(changed), len(changed))
    assert found["n_copied_words"] == sum(map(len, changed))
    main(arguments(made, path, *budget, "--keep", "all"))  # of the same attack, not made again
    assert len(words_of(path)) == SENTENCES
    found = summary(path)
    assert (found["n_copies"], found["n_changed"]) == (SENTENCES, len(changed))


def test_the_seed_is_the_recipes_unless_given(made, tmp_path):
    for name, option in (("own", "--attack.seed"), ("given", "--seed")):
        main(arguments(made, tmp_path / f"{name}.conllu", option, 2, "--fraction", 0.5))
        assert summary(tmp_path / f"{name}.conllu")["seed"] == 2
    ours, theirs = (tmp_path / f"{name}.attack" for name in ("own", "given"))
    for name in ("examples.jsonl", "run.json"):
        assert (ours / name).read_bytes() == (theirs / name).read_bytes()


@pytest.mark.parametrize(("option", "unit"), [("--fraction", "sentences"), ("--tokens", "tokens")])
def test_a_share_of_the_sentences_is_attacked(made, tmp_path, option, unit):
    path = tmp_path / "copies.conllu"
    main(arguments(made, path, option, 0.5, "--seed", 2, "--keep", "all"))
    whole = sentences(SENTENCES)
    drawn = draw_fraction([len(example.sentence) for example in whole], 0.5, unit, 2)
    lines = list(read_records(tmp_path / "copies.attack" / "examples.jsonl"))
    assert [line["id"] for line in lines] == drawn
    assert [len(words) for words in words_of(path)] == [len(whole[i].sentence) for i in drawn]
    found = summary(path)
    assert (found["fraction"], found["fraction_of"], found["n_copies"]) == (0.5, unit, len(drawn))


def test_a_stopped_run_resumes(made, tmp_path, monkeypatch):
    main(arguments(made, tmp_path / "whole.conllu"))
    calls: list[int] = []
    stop_after(5, calls, monkeypatch)
    with pytest.raises(SystemExit, match="130"):
        main(arguments(made, tmp_path / "copies.conllu"))
    assert not (tmp_path / "copies.conllu").exists()
    main(arguments(made, tmp_path / "copies.conllu"))
    assert len(calls) == SENTENCES
    ours, theirs = ((tmp_path / f"{n}.conllu").read_bytes() for n in ("copies", "whole"))
    assert ours == theirs


def same(out: Path, whole: Path) -> None:
    """The same copies of the same attack; times and forwards apart, the same figures."""
    assert out.read_bytes() == whole.read_bytes()
    for name in ("examples.jsonl", "run.json", "adversarial.conllu"):
        ours, theirs = (path.with_suffix(".attack") / name for path in (out, whole))
        assert ours.read_bytes() == theirs.read_bytes(), name
    ours, theirs = ({**summary(path), **dict.fromkeys(SPEED)} for path in (out, whole))
    assert ours == theirs


@pytest.mark.usefixtures("_forks")
def test_two_processes_write_what_one_writes(made, tmp_path, capsys):
    options = ["--device", "cpu", "--tokens", 0.7, "--seed", 2, "--keep", "all"]
    main(arguments(made, tmp_path / "whole.conllu", *options))
    capsys.readouterr()
    main(arguments(made, tmp_path / "out.conllu", *options, "--devices", 2))
    assert f"{len(words_of(tmp_path / 'out.conllu'))} copies in" in capsys.readouterr().out
    same(tmp_path / "out.conllu", tmp_path / "whole.conllu")


@pytest.mark.slow
def test_the_first_rank_of_a_launcher_writes_what_one_process_writes(made, tmp_path):
    options = ["--device", "cpu", "--keep", "all"]
    main(arguments(made, tmp_path / "whole.conllu", *options))
    started = ranks(arguments(made, tmp_path / "out.conllu", *options), 2)
    outputs = [process.communicate(timeout=600) for process in started]
    assert [process.returncode for process in started] == [0, 0], outputs
    assert ["copies in" in out for out, _ in outputs] == [True, False]
    same(tmp_path / "out.conllu", tmp_path / "whole.conllu")


def test_the_format_is_the_datas(made, tmp_path, capsys):
    (tmp_path / "train.conllx").write_bytes((made / "train.conllu").read_bytes())
    given = ["--data", tmp_path / "train.conllx"]
    error = mistake(capsys, *arguments(made, tmp_path / "copies.conllu", *given))
    assert "name a file that ends in .conllx" in error
    main(arguments(made, tmp_path / "copies.conllx", *given, "--limit", 2, "--keep", "all"))
    assert len(words_of(tmp_path / "copies.conllx")) == 2


def test_training_with_the_shipped_settings_on_copies_of_the_sample(made, tmp_path):
    path = tmp_path / "copies.conllu"
    main(arguments(made, path, "--data", "sample", "--limit", 20, "--keep", "all"))
    config = write_config(tmp_path / "run.yaml", max_steps=2)
    settings = yaml.safe_load(config.read_text())
    shipped = yaml.safe_load(SHIPPED.read_text())["data"]["init_args"]
    assert (shipped["augmentation"]["unit"], shipped["augmentation"]["vocabulary"]) == (
        "tokens",
        "merged",
    )
    settings["data"]["init_args"] = {**shipped, "folder": "sample", "batches": {"words": 400}}
    settings["data"]["init_args"]["augmentation"]["files"] = [str(path)]
    config.write_text(yaml.safe_dump(settings))
    main(fit(config, tmp_path / "run"))
    assert (tmp_path / "run" / "last.ckpt").exists()


def test_copies_are_given_after_an_experiment(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(arguments(made, Path("copies.conllu"), "--data", "sample", "--limit", 20))
    config = write_config(tmp_path / "run.yaml", max_steps=2)
    main([*fit(config, tmp_path / "run"), "--config", str(CONFIGS / "defense" / "copies.yaml")])
    used = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())["data"]["init_args"]
    assert used["augmentation"]["files"] == ["copies.conllu"]
    assert used["folder"] == "sample"
    Path("copies.conllu").unlink()
    with pytest.raises(SystemExit, match="2"):
        main([*fit(config, tmp_path / "new"), "--config", str(CONFIGS / "defense" / "copies.yaml")])


def test_operations_need_no_model(made, tmp_path, capsys):
    path, data = tmp_path / "copies.conllu", made / "train.conllu"
    options = ["augment", "--data", str(data), "--out", str(path), "--fraction", "0.5"]
    main([*options, "--operations", "final_stop,keyboard_slips", "--seed", "2"])
    originals = read_treebank(data)
    drawn = draw_fraction([len(one.sentence) for one in originals], 0.5, "sentences", 2)
    copies, shorter = read_treebank(path), 0
    for index, copy in zip(drawn, copies, strict=True):
        original = originals[index]
        kept = len(copy.sentence)
        assert len(original.sentence) - kept in (0, 1)
        assert copy.gold.labels == original.gold.labels[:kept]
        assert copy.sentence.words != original.sentence.words
        shorter += kept < len(original.sentence)
    assert 0 < shorter < len(copies)
    found = summary(path)
    assert (found["n_copies"], found["n_changed"], found["task"]) == (7, 7, "dependency")
    assert found["operations"] == ["final_stop", "keyboard_slips"]
    assert not path.with_suffix(".attack").exists()
    written = path.read_bytes()
    main([*options, "--operations", '["final_stop", "keyboard_slips"]', "--seed", "2"])
    assert path.read_bytes() == written
    sample = ["augment", "--data", "sample", "--out", str(path), "--operations", "typos"]
    main([*sample, "--task", "dependency", "--limit", "3"])
    assert len(read_treebank(path)) == 3
    assert "give --task" in mistake(capsys, *sample)
    sample += ["--task", "dependency"]
    for option, value in (("--tagger", "nltk"), ("--decoder", "mst"), ("--devices", 2)):
        given = mistake(capsys, *sample, option, value)
        assert f"{option}: applies to attacks only" in given


@pytest.mark.parametrize(
    "given",
    [
        "--operations typos --attack {made}/words.yaml",
        "--operations typos --checkpoint {made}/tiny.ckpt",
        "--checkpoint {made}/tiny.ckpt",
        "--attack {made}/words.yaml",
        "",
    ],
)
def test_either_an_attack_or_operations(made, capsys, given):
    options = ["--data", str(made / "train.conllu"), "--out", str(made / "copies.conllu")]
    assert "give --attack and --checkpoint, or only --operations" in mistake(
        capsys, "augment", *options, *given.format(made=made).split()
    )


def test_a_text_keeps_its_label_however_many_words_it_has(tmp_path):
    """A file's other columns are kept too."""
    lines = {
        "texts.tsv": ("don't go .\tbad\nI do not know\t1\n", "do not go .\tbad\nI don't know\t1\n"),
        "texts.jsonl": (
            '{"id": 7, "text": "I am late", "label": "a"}\n',
            '{"id": 7, "text": "I\'m late", "label": "a"}\n',
        ),
    }
    operations = "[{class_path: Contractions, init_args: {joined: true}}]"
    for name, (before, after) in lines.items():
        data, out = tmp_path / name, tmp_path / f"copies{Path(name).suffix}"
        data.write_text(before)
        main(["augment", "--data", str(data), "--out", str(out), "--operations", operations])
        assert out.read_text() == after


def test_copies_unlike_their_originals_are_left_out(made, tmp_path, capsys):
    data, out, vectors = (tmp_path / name for name in ("texts.tsv", "copies.tsv", "vectors.txt"))
    vectors.write_text("the 1 0\ncat 0 1\nin 1 0\ndog 2 0\n")
    # Without the function word: cosine 1 / sqrt(2); 1, as "a" has no vector; no copy; 1.
    data.write_text("the Cat\tx\na cat\tx\ncat\tx\nin dog\tx\n")
    options = ["augment", "--data", str(data), "--out", str(out)]
    options += ["--similarity", "VectorSimilarity", "--similarity.vectors", str(vectors)]
    operations = ["--operations", "deletion", "--similarity.measure", "cosine"]
    main([*options, *operations])
    assert out.read_text() == "cat\tx\ndog\tx\n"
    found = summary(out)
    assert [found[f"n_{name}"] for name in ("examples", "without_copy", "dissimilar")] == [4, 1, 1]
    assert found["n_copies"] == found["n_changed"] == 2
    judged = [found[name] for name in ("similarity", "measure", "minimum")]
    assert judged == ["VectorSimilarity", "cosine", 0.9]
    said = capsys.readouterr().out
    assert "1 of 4 examples have no changed copy" in said
    assert "1 of 3 copies (33.3 %) left out: similarity below 0.9" in said
    main([*options, *operations, "--similarity.minimum", "0.7", "--keep", "all"])
    assert out.read_text() == "Cat\tx\ncat\tx\ncat\tx\ndog\tx\n"
    main([*options, *operations, "--keep", "all"])
    assert out.read_text() == "the Cat\tx\ncat\tx\ncat\tx\ndog\tx\n"
    error = mistake(capsys, *arguments(made, tmp_path / "c.conllu"), *options[5:])
    assert "--similarity" in error
    assert "attack's constraints" in error


RAW = """\
show me jobs in new york ?	show me job in locid0	loc ( ANS , locid0 )	{"locid0": "new york"}
what jobs are there ?	what job are there	job ( ANS )	{}
jobs	job	job ( ANS )	{}
"""


def test_others_are_drawn_in_place_of_those_without_a_copy(tmp_path, capsys):
    data, out = tmp_path / "forms.tsv", tmp_path / "copies.tsv"
    # Deletion leaves single words alone; 4 of 10 utterances have more.
    words = [f"show the w{number}" if number % 3 == 0 else "show" for number in range(10)]
    data.write_text("".join(f"{one}\tjob ( ANS )\n" for one in words))
    options = ["augment", "--task", "semantic", "--data", str(data), "--operations", "deletion"]
    options += ["--out", str(out), "--fraction"]
    for wanted in (1, 3, 4, 5):
        main([*options, str(wanted / 10)])
        found = out.read_text().splitlines()
        assert len(found) == min(wanted, 4)
        # No more are drawn than needed, in the order of growing fractions.
        tried = summary(out)["n_examples"]
        drawn = draw_fraction([1] * 10, tried / 10, "sentences", 0)
        fewer = draw_fraction([1] * 10, (tried - 1) / 10, "sentences", 0) if tried > 1 else []
        having = [sum(number % 3 == 0 for number in some) for some in (drawn, fewer)]
        assert having[0] == len(found)
        assert wanted > 4 or having[1] < wanted
    main([*options, "0.5", "--keep", "all"])
    assert len(out.read_text().splitlines()) == 5
    main([*options, "0.5", "--limit", "5"])
    assert summary(out)["n_examples"] == 5


def test_what_is_seldom_changed_is_told_and_nothing_is_not_written(tmp_path, capsys):
    data, out = tmp_path / "texts.tsv", tmp_path / "copies.tsv"
    data.write_text("ab .\ta\nab cd\ta\n" + "it is so .\tb\n" * 8)
    options = ["augment", "--data", str(data), "--out", str(out), "--task", "classification"]
    for operations, seldom in [
        ("keyboard_slips", ["keyboard_slips"]),
        ("keyboard_slips,casing", ["keyboard_slips"]),
        ("casing", []),
    ]:
        main([*options, "--operations", operations, "--keep", "all"])
        said = capsys.readouterr().err
        assert [line.split()[1] for line in said.splitlines()] == seldom
        assert len(out.read_text().splitlines()) == 10
    assert not list(idle({"typos": 0, "casing": 0}, 1))  # less than a sentence for each
    out.unlink()
    out.with_name(f"{out.name}.summary.json").unlink()
    assert str(out) in mistake(capsys, *options, "--operations", "keyboard_slips")
    assert "--operations" in mistake(capsys, *options, "--operations", "[]")
    assert not out.exists()
    assert not out.with_name(f"{out.name}.summary.json").exists()


def test_python_writes_the_copies_of_the_command(tmp_path):
    data, operations = tmp_path / "texts.tsv", [Typos(), Casing()]
    data.write_text("the cat sleeps here\tx\na dog barks\ty\nno bird sings\tx\n")
    options = ["--data", str(data), "--task", "classification", "--seed", "3"]
    main(["augment", *options, "--operations", "typos,casing", "--out", str(tmp_path / "a.tsv")])
    written = augment(tmp_path / "b.tsv", data, operations, task="classification", seed=3)
    assert (tmp_path / "a.tsv").read_text() == (tmp_path / "b.tsv").read_text()
    assert written.summary == summary(tmp_path / "b.tsv") == summary(tmp_path / "a.tsv")
    assert written.dataset == []


def test_the_language_of_forms_is_named(tmp_path, capsys):
    data, out = tmp_path / "forms.tsv", tmp_path / "copies.tsv"
    data.write_text("show the job\tjob ( A )\n")
    options = ["augment", "--data", str(data), "--out", str(out), "--operations", "deletion"]
    guessed = mistake(capsys, *options, "--task", "semantic")  # without ANS: lambda calculus
    assert "lambda was guessed" in guessed
    assert "--language" in guessed
    for task in ([], ["--task", "semantic"]):
        main([*options, *task, "--language", "prolog"])
        assert out.read_text() == "show job\tjob ( A )\n"
        assert summary(out)["language"] == "prolog"
    assert "--language" in mistake(capsys, *options, "--task", "dependency", "--language", "prolog")
    attack = ["--attack", "pwws", "--checkpoint", options[2]]
    for option in ("--language", "prolog"), ("--task", "semantic"):
        message = mistake(capsys, *options[:-2], *attack, *option)
        assert f"{option[0]}: applies to operations only" in message
    assert "language: got 'sql'" in mistake(capsys, *options, "--language", "sql")


def test_raw_utterances_are_reworded_into_copies_and_pairs(tmp_path, capsys):
    data = tmp_path / "raw.tsv"
    data.write_text(RAW)
    options = ["augment", "--task", "semantic", "--data", str(data), "--operations", "deletion"]
    main([*options, "--out", str(tmp_path / "copies.tsv")])
    copies = [line.split("\t") for line in (tmp_path / "copies.tsv").read_text().splitlines()]
    assert [gold for _, gold in copies] == ["loc ( ANS , locid0 )", "job ( ANS )"]
    assert copies[0][0] in ("show job in locid0", "show me job locid0")
    assert copies[1][0] in ("what job there", "what job are")
    main([*options, "--out", str(tmp_path / "all.tsv"), "--keep", "all"])
    kept = (tmp_path / "all.tsv").read_text().splitlines()
    assert kept == [*("\t".join(copy) for copy in copies), "jobs\tjob\tjob ( ANS )\t{}"]
    main([*options, "--out", str(tmp_path / "pairs.tsv"), "--keep", "pairs"])
    pairs = [line.split("\t") for line in (tmp_path / "pairs.tsv").read_text().splitlines()]
    assert [[copy, gold] for copy, _, gold in pairs] == copies
    assert [one for _, one, _ in pairs] == ["show me job in locid0", "what job are there"]
    names = ["--task", "dependency", "--operations", "typos", "--keep", "pairs"]
    trees = ["augment", "--data", "sample", "--out", str(tmp_path / "c.conllu"), *names]
    assert "answers of the task dependency are not written in a column" in mistake(capsys, *trees)
