"""Sentences that are typed: the engine's result is shown, and a bad line ends nothing."""

import io
import json
from pathlib import Path

import pytest
from command_runs import mistake

import robustparse as rp
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.search.beam import Greedy
from robustparse.cli.main import _parsed, main
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.types import Example, Sentence
from robustparse.victims import HuggingFaceClassifier
from tiny_models import save_classifier

WORDS = ("the", "cat", "cats", "dog", "saw", "sawing")
TEXTS = ("the cats saw the dog", "dog", "saw the cat sawing the dog")
RECIPE = ("--attack", "pwws", "--attack.search", "Greedy", "--attack.constraints", "[]")
RECIPE += ("--attack.candidates", "Lexicon", "--attack.candidates.table", "words.json")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a classifier, and substitutes of every word."""
    monkeypatch.chdir(tmp_path)
    save_classifier(Path("model"))
    Path("words.json").write_text(json.dumps(table()))


def table() -> dict[str, list[str]]:
    return {word: [other for other in WORDS if other != word] for word in WORDS}


def expected(text: str, context: str = "") -> list[str]:
    """The marked words, and the labels before and after, from the engine."""
    victim = HuggingFaceClassifier("model", device="cpu", pairs=bool(context))
    words = text.split()
    asked = (context.split(), words) if context else words
    ((gold, _),) = victim.answer([asked])
    sentence = Sentence(tuple(words), context=tuple(context.split()))
    (result,) = Attack(Lexicon(table()), Greedy()).run([Example(0, sentence, gold)], victim)
    marked = [
        f"[{old} -> {new}]" if old != new else old
        for old, new in zip(words, result.words, strict=True)
    ]
    return [" ".join(marked), str(result.clean), str(result.attacked)]


def test_one_text_shows_its_changes(capsys: pytest.CaptureFixture[str]) -> None:
    for text in TEXTS:
        main(["attack", *RECIPE, "--victim", "hf:model", "--device", "cpu", "--text", text])
        printed = capsys.readouterr().out
        assert all(part in printed for part in expected(text))


def test_punctuation_that_is_part_of_a_word_is_pointed_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for text, hinted in (("zebra.", True), ("zebra .", False), ("the dog.", False)):
        main(["attack", *RECIPE, "--victim", "hf:model", "--device", "cpu", "--text", text])
        assert ("'zebra.'" in capsys.readouterr().out) == hinted


def test_a_pair_keeps_its_context(capsys: pytest.CaptureFixture[str]) -> None:
    victim = ("--victim", "hf:model", "--victim.pairs", "true", "--device", "cpu")
    main(["attack", *RECIPE, *victim, "--text", TEXTS[0], "--context", TEXTS[2]])
    printed = capsys.readouterr().out
    assert all(part in printed for part in expected(TEXTS[0], TEXTS[2]))
    assert TEXTS[2] not in printed


def test_a_bad_line_does_not_end_the_others(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [TEXTS[0], "", "a premise\tand a hypothesis", TEXTS[2]]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    main(["attack", *RECIPE, "--victim", "hf:model", "--device", "cpu", "--interactive"])
    captured = capsys.readouterr()
    assert all(part in captured.out for text in (TEXTS[0], TEXTS[2]) for part in expected(text))
    assert "robustparse: " in captured.err


def test_trees_show_the_words_whose_arcs_changed(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = rp.sample(split="test")[0].sentence.words
    table = {word: [other for other in words if other != word] for word in words}
    Path("words.json").write_text(json.dumps(table))
    parser = ["--checkpoint", str(made / "tiny.ckpt"), "--device", "cpu"]
    main(["attack", *RECIPE, *parser, "--text", " ".join(words)])
    marked, *arcs, _outcome = capsys.readouterr().out.splitlines()
    assert marked.count("[") == marked.count(" -> ") > 0
    before = rp.load(made / "tiny.ckpt").predict([list(words)])[0]
    shown = [arc.partition("  ->  ")[0].strip() for arc in arcs]
    assert shown
    assert set(shown) <= {*DEPENDENCY.answers.lines(before, words)}


@pytest.mark.parametrize(
    ("options", "key"),
    [
        (["--text", "a", "--interactive"], "--text"),
        (["--interactive", "--context", "a"], "--context"),
        (["--interactive", "--out", "folder"], "--out"),
        (["--text", "a", "--victim", "hf:other"], "--victim"),
    ],
)
def test_options_that_exclude_each_other(
    options: list[str], key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert key in mistake(capsys, "attack", *RECIPE, "--victim", "hf:model", *options)


def test_the_help_of_attack_has_the_options_of_typed_sentences(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["attack", "--help"])
    usage, _, options = capsys.readouterr().out.partition("options:")
    for option in ("--text", "--context", "--interactive"):
        assert option in usage
        assert option in options


def test_typed_sentences_are_refused_in_a_file_of_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "options.yaml").write_text("text: a good film\n")
    options = ["--config", str(tmp_path / "options.yaml"), "--data", "sample", "--out", "folder"]
    assert "--text" in mistake(capsys, "attack", *RECIPE, "--victim", "hf:model", *options)


@pytest.mark.parametrize("text", ["None", "~/", "010", "1:30"])
def test_a_text_is_taken_as_it_is_typed(text: str) -> None:
    parsed = _parsed("attack", [*RECIPE, "--victim", "hf:model", "--text", text])
    assert parsed.options.text == text
