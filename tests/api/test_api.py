"""The functions of the package root: what a notebook types, against what the commands write."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import robustparse as rp
from robustparse.api.inputs import system_name
from robustparse.attacks import AttachmentDrop, Attack, Greedy, LabelFlip, Zheng2020
from robustparse.certificates.exhaustion import Exhaustive
from robustparse.cli.main import main
from robustparse.data import TreebankDataModule
from robustparse.errors import InputError
from robustparse.evaluation.clean import predictions, scores_of
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.load import load
from robustparse.models.victim import ModelVictim
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.types import Example, Sentence
from robustparse.victims import FunctionVictim, HuggingFaceClassifier
from sample_runs import (
    RECIPE,
    SPEED,
    lexicon_attack,
    save_checkpoint,
    sentences,
    trained_parser,
    write_sample,
)
from sample_texts import review_attack, texts, trained_classifier, write_texts


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a checkpoint, eight sentences and a recipe; nobody may change it."""
    folder = tmp_path_factory.mktemp("made")
    save_checkpoint(trained_parser().float(), folder / "tiny.ckpt")
    write_sample(folder / "test.conllu", sentences(8, "test"))
    (folder / "words.yaml").write_text(RECIPE)
    return folder


@pytest.fixture
def model(made: Path) -> BiaffineParser:
    return load(made / "tiny.ckpt")  # type: ignore[return-value]


@pytest.fixture
def examples(made: Path) -> list[Example]:
    return rp.read(made / "test.conllu")


def contents(folder: Path) -> dict[str, Any]:
    """What a run says but for what took how long."""
    found: dict[str, Any] = {path.name: path.read_bytes() for path in folder.iterdir()}
    summary = json.loads(found.pop("summary.json"))
    return {**found, "summary": {k: v for k, v in summary.items() if k not in SPEED}}


def test_it_is_the_run_of_the_command(made: Path, tmp_path: Path) -> None:
    """The same files with the same arguments; either finishes what the other has begun."""
    options = {"checkpoint": "tiny.ckpt", "data": "test.conllu", "attack": "words.yaml"}
    given = {key: str(made / value) for key, value in options.items()}
    flags = [part for key, value in given.items() for part in (f"--{key}", value)]
    main(["attack", *flags, "--seed", "2", "--limit", "6", "--out", str(tmp_path / "command")])

    def run(folder: str) -> rp.AttackResults:
        model, data = given["checkpoint"], given["data"]
        return rp.attack(model, data, given["attack"], seed=2, limit=6, out=tmp_path / folder)

    results = run("python")
    assert contents(tmp_path / "python") == contents(tmp_path / "command")
    (tmp_path / "command" / "summary.json").unlink()
    lines = tmp_path / "command" / "examples.jsonl"
    lines.write_text("".join(lines.read_text().splitlines(keepends=True)[:3]))
    assert run("command").lines == results.lines
    assert contents(tmp_path / "python") == contents(tmp_path / "command")
    assert rp.AttackResults(tmp_path / "command").lines == results.lines


def test_a_model_its_ensemble_and_its_function_fall_alike(
    made: Path, model: BiaffineParser, examples: list[Example]
) -> None:
    attack = rp.recipe(made / "words.yaml")
    function = FunctionVictim(model.predict, training=sentences(300))
    lines = [
        [{**line, "unseen": None} for line in rp.attack(victim, examples, attack, limit=5).lines]
        for victim in (model, [model], [model, model], made / "tiny.ckpt", function)
    ]
    assert all(found == lines[0] for found in lines)
    assert any(line["success"] for line in lines[0])


def test_results_are_looked_at_in_many_ways(
    made: Path, model: BiaffineParser, examples: list[Example], tmp_path: Path
) -> None:
    results = rp.attack(model, examples, made / "words.yaml")
    summary = results.summary
    assert len(results) == len(examples) == summary["n_sentences"]
    for value in (summary["clean"]["las"], summary["attacked"]["uas"], summary["success_rate"]):
        assert f"{value:.1f}" in repr(results)
        assert f"{value:.1f}" in results._repr_html_()
    first = results.successes[0]
    assert results[[one.id for one in results].index(first.id)].record == first.record
    assert first.clean == model.predict([first.words])[0]
    assert first.attacked == model.predict([first.adversarial])[0]
    assert first.gold == examples[first.id].gold
    at = first.edited[0]
    assert f"[{first.words[at]} -> {first.adversarial[at]}]" in repr(first)
    assert DEPENDENCY.pictures.draw(first.record) in first._repr_html_()
    assert [one.id for one in results[2:4]] == [2, 3]
    frame = pytest.importorskip("pandas") and results.to_pandas()
    assert list(frame.index) == [example.id for example in examples]
    assert int(frame["success"].sum()) == len(results.successes)
    assert frame.loc[first.id, "adversarial"] == " ".join(first.adversarial)
    assert frame["clean_las"].notna().all()
    page = rp.report([results, rp.attack(model, examples, lexicon_attack())], tmp_path / "r.html")
    assert "zheng2020" in page.read_text()


def test_what_is_in_memory_leaves_no_files(
    made: Path, model: BiaffineParser, examples: list[Example]
) -> None:
    results = rp.attack(model, examples[:2], made / "words.yaml")
    folder = results.folder
    assert folder.is_dir()
    del results
    assert not folder.exists()


def test_a_tilde_is_the_home_folder(
    model: BiaffineParser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    here.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(here)
    write_sample(home / "en-test.conllu", sentences(2, "test"))
    examples = rp.read("~/en-test.conllu")
    assert len(examples) == len(rp.read("~/en-*.conllu")) == 2
    assert TreebankDataModule(folder="~").path("test") == home / "en-test.conllu"
    rp.attack(model, examples, lexicon_attack(), out="~/run")
    assert rp.AttackResults("~/run").folder == home / "run"
    assert rp.report("~/run", "~/page.html") == home / "page.html"
    assert (home / "page.html").is_file()
    model.save_pretrained("~/model")
    for shared in (rp.load("~/model"), BiaffineParser.from_pretrained("~/model")):
        assert shared.vocabulary == model.vocabulary
    assert not [*here.iterdir()]


def test_scores_are_those_of_the_command(
    made: Path, model: BiaffineParser, examples: list[Example]
) -> None:
    scores = rp.evaluate(model, examples)
    found = predictions(ModelVictim([model]), examples)
    assert scores == scores_of(model.task, found, examples, "none")
    assert scores == rp.evaluate(made / "tiny.ckpt", examples)
    assert scores == rp.evaluate(model, made / "test.conllu")
    assert {p.id: p.answer for p in scores.predictions} == dict(
        enumerate(model.predict([example.sentence for example in examples]))
    )
    assert f"{scores['las']:.2f}" in repr(scores)
    assert f"{scores['las']:.1f}" in scores._repr_html_()


def test_a_folder_holds_one_run(
    made: Path, model: BiaffineParser, examples: list[Example], tmp_path: Path
) -> None:
    """Objects are told apart by their settings, weights and sentences."""

    def run(victim: Any, found: list[Example], attack: Attack) -> rp.AttackResults:
        return rp.attack(victim, found, attack, out=tmp_path / "run")

    attack = lexicon_attack()
    assert run(model, examples, attack).lines == run(model, examples, attack).lines
    other = load(made / "tiny.ckpt")
    other.arc_attn.weight.data.mul_(1.5)  # type: ignore[attr-defined, union-attr, operator]
    mean, decoder = load(made / "tiny.ckpt"), load(made / "tiny.ckpt")
    mean.mean, decoder.decoder = "logits", "mst"
    for given in (
        (other, examples, attack),
        (mean, examples, attack),
        (decoder, examples, attack),
        (model, examples[1:], attack),
        (model, examples, lexicon_attack({"gamma": 0.5})),
    ):
        with pytest.raises(InputError, match="holds another run"):
            run(*given)


def test_a_classifier_is_served_alike(tmp_path: Path) -> None:
    model, examples = trained_classifier(), texts(12, "test")
    function = FunctionVictim(model.predict, "classification", labels=model.vocabulary.labels)
    attack = Attack(review_attack().candidates, Zheng2020(gamma=0.5))
    results, black_box = (rp.attack(victim, examples, attack) for victim in (model, function))
    assert len(results.successes) > 0
    assert [{**line, "unseen": None} for line in results.lines] == black_box.lines
    first = results.successes[0]
    assert first.gold == first.clean != first.attacked
    assert f"{results.summary['attacked']['accuracy']:.1f}" in results._repr_html_()
    assert rp.evaluate(function, examples) == rp.evaluate(model, examples)
    assert rp.sample("classification") == rp.sample(model.task)
    path = write_texts(tmp_path / "texts.tsv", examples)
    assert [one.gold for one in rp.read(path, "classification")] == [one.gold for one in examples]
    assert "Accuracy" in rp.report(results, tmp_path / "report.html").read_text()


class Forgetful(Greedy):
    """Keeps no argument."""

    def __init__(self, words: int = 1) -> None:
        super().__init__()


def too_strong() -> Attack:
    """An attack whose search was changed after it was made."""
    attack = lexicon_attack()
    attack.search.gamma = 15
    return attack


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"victim": len}, "victim"),
        ({"victim": []}, "victim"),
        ({"victim": "missing.ckpt"}, None),
        ({"examples": [["a", "b"]]}, "examples"),
        ({"examples": []}, "examples"),
        ({"examples": "missing.conllu"}, None),
        ({"attack": "zheng2019"}, "--attack"),
        ({"attack": lexicon_attack(budget=0)}, "attack: budget"),
        ({"attack": Attack(lexicon_attack().candidates, Zheng2020(), goal=LabelFlip())}, "goal: L"),
        ({"seed": -1}, "attack: seed"),
        ({"limit": 0}, "examples: limit"),
        ({"limit": 2.0}, "limit"),
        ({"limit": True}, "limit"),
        ({"device": "gpu"}, "device gpu"),
        ({"out": ""}, None),
        ({"out": 0}, None),
        ({"seed": "1"}, "seed"),
        ({"attack": too_strong()}, "attack: gamma"),
    ],
)
def test_what_cannot_be_attacked_is_named(
    made: Path, model: BiaffineParser, examples: list[Example], change: dict[str, Any], key: str
) -> None:
    given = {"victim": model, "examples": examples, "attack": str(made / "words.yaml"), **change}
    with pytest.raises(InputError) as error:
        rp.attack(**given)
    assert str(error.value.key).startswith(str(key))


def test_numbers_may_be_of_numpy(
    made: Path, model: BiaffineParser, examples: list[Example], tmp_path: Path
) -> None:
    recipe, out = str(made / "words.yaml"), tmp_path / "out"
    found = rp.attack(model, examples, recipe, seed=np.int64(3), limit=np.int32(2), out=out)
    assert found.lines == rp.attack(model, examples, recipe, seed=3, limit=2).lines


def test_a_part_that_keeps_no_argument_is_not_kept_in_a_folder(
    model: BiaffineParser, examples: list[Example], tmp_path: Path
) -> None:
    attack = Attack(lexicon_attack().candidates, Forgetful(), goal=AttachmentDrop())
    assert len(rp.attack(model, examples, attack)) == len(examples)
    with pytest.raises(InputError, match="keeps no attribute 'words'"):
        rp.attack(model, examples, attack, out=tmp_path)


def test_columns_of_texts_are_read_by_their_names(tmp_path):
    path = tmp_path / "reviews.jsonl"
    path.write_text('{"stars": "5", "review": "We liked it ."}\n')
    (example,) = rp.read(path, "classification", columns=["review", "stars"])
    assert (example.sentence.words, example.gold) == (("We", "liked", "it", "."), "5")
    with pytest.raises(InputError) as error:
        rp.read(path, "classification")
    assert (error.value.line, error.value.expected) == (1, "one of stars, review")
    with pytest.raises(InputError) as error:
        rp.read(path)  # as a treebank
    assert (error.value.path, error.value.key) == (str(path), "task")


@pytest.mark.parametrize(
    ("paths", "name"),
    [
        (["runs/ewt/best.ckpt"], "ewt"),
        (["runs/ewt/last.ckpt"], "ewt"),
        (["runs/ewt/parser.ckpt"], "parser"),
        (["Parser"], "Parser"),
        (["runs/ewt/best.ckpt", "runs/ewt_2/best.ckpt", "b.ckpt"], "ewt + ewt_2 + b"),
    ],
)
def test_a_run_is_named_by_its_folder(paths: list[str], name: str) -> None:
    assert system_name(paths) == name


@pytest.mark.parametrize("task", ["dependency", "classification", "semantic", "tags"])
def test_a_split_that_there_is_not_is_refused(task: str) -> None:
    with pytest.raises(InputError, match="split must be one of train, dev, test, got 'tset'"):
        rp.sample(task, "tset")


def test_examples_whose_ids_or_gold_answers_cannot_be_used(model, examples):
    first, second, *_ = examples
    n = len(second.sentence)
    for changed, key in (
        (replace(second, id=first.id), "examples: sentence 2"),
        (replace(second, id=-1), "examples: sentence 2"),
        (replace(second, id="a"), "examples: sentence 2"),
        (replace(second, gold="label"), "examples: sentence 2"),
        (replace(second, gold=None), "examples: sentence 2"),
        (replace(second, gold=first.gold), "examples: sentence 2"),
        (replace(second, gold=replace(second.gold, heads=(99,) * n)), "examples: sentence 2"),
        (replace(second, gold=replace(second.gold, heads=("1",) * n)), "examples: sentence 2"),
        (replace(second, sentence="ab" * n), "examples: sentence 2"),
        (replace(second, sentence=Sentence(())), "examples: sentence 2"),
        (replace(second, sentence=Sentence("ab" * n)), "examples: sentence 2"),
        (replace(second, sentence=Sentence(("",) * n)), "examples: sentence 2"),
        (replace(second, sentence=Sentence((3,) * n)), "examples: sentence 2"),
        (replace(second, sentence=Sentence(("a\tb",) * n)), "examples: sentence 2"),
    ):
        with pytest.raises(InputError) as error:
            rp.evaluate(model, [first, changed])
        assert error.value.key == key


@pytest.mark.parametrize(
    ("asked", "key"),
    [
        (lambda: rp.report(None), "attacked"),
        (lambda: rp.report({"accuracy": 90.0}), "attacked"),
        (lambda: rp.report([Path("a"), 3]), "attacked"),
        (lambda: rp.worst_of_attacks("missing"), None),
        (lambda: rp.worst_of_attacks([Path("missing"), "none"]), None),
        (lambda: rp.certify(len, [], {"good": ["fine"]}), "substitutes"),
        (lambda: Exhaustive(rp.SubstitutionTable({}, {}), cap=None), "certify: cap"),
        (lambda: HuggingFaceClassifier(torch.nn.Linear(1, 1)), "classifier"),
    ],
)
def test_arguments_of_another_type_are_named(asked: Any, key: str | None) -> None:
    with pytest.raises(InputError) as error:
        asked()
    assert error.value.key == key


def test_labels_that_the_classifier_does_not_know_are_told(capsys):
    classifier, labelled = trained_classifier(), texts(2)
    for gold, told in ((labelled[0].gold, False), ("odd", True)):
        rp.evaluate(classifier, [replace(labelled[0], gold=gold)])
        assert bool(capsys.readouterr().err) == told


def test_labels_that_are_no_texts_are_refused():
    classifier, labelled = trained_classifier(), texts(2)
    for label in (1.0, 1, True, ["pos"], {"pos": 1}, None):
        with pytest.raises(InputError) as error:
            rp.evaluate(classifier, [replace(labelled[0], gold=label), labelled[1]])
        assert error.value.expected == "a str"
