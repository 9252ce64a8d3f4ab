"""Attacks into a folder: the same files however often stopped, scores that a re-parse confirms."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from robustparse.attacks.goals import AttachmentDrop
from robustparse.data.conllu import read_treebank
from robustparse.errors import InputError
from robustparse.evaluation.evaluate import evaluate
from robustparse.evaluation.robustness import attack_into, read_lines
from robustparse.evaluation.tally import Tally
from robustparse.parsers.victim import ParserVictim
from robustparse.types import Example
from sample_runs import lexicon_attack, sentences, trained_parser

RUN = {"attack": "zheng2020", "victims": ["parser.ckpt"], "seed": 3, "limit": None}
FILES = ("examples.jsonl", "adversarial.conllu")
SPEED = {
    "victim_forwards",
    "texts_per_forward",
    "seconds",
    "other_model_seconds",
    "sentences_per_second",
    "victim_share_of_seconds",
}


def some(count: int) -> list[Example]:
    """Test sentences; one has words beyond ASCII, one of them with a line separator in it."""
    examples = sentences(count, "test")
    words = ("Zürich", "a\u2028b", *examples[1].sentence.words[2:])
    examples[1] = replace(examples[1], sentence=replace(examples[1].sentence, words=words))
    return examples


def attack(
    folder: Path,
    examples: list[Example],
    on_sentence: Callable[[Tally], None] = lambda tally: None,
    **settings: Any,
) -> dict[str, Any]:
    victim = ParserVictim(trained_parser())
    chosen = lexicon_attack({"psi": 8}, seed=3, **{"live": 4, **settings})
    return attack_into(folder, chosen, examples, victim, dict(RUN), on_sentence)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted run over twelve sentences."""
    folder = tmp_path_factory.mktemp("whole")
    attack(folder, some(12))
    return folder


class Stopping:
    """Counts finished sentences and kills the run after some of them."""

    def __init__(self, stop: int) -> None:
        self.stop, self.calls = stop, 0

    def __call__(self, tally: Tally) -> None:
        self.calls += 1
        if self.calls == self.stop:
            raise KeyboardInterrupt if self.stop % 2 else RuntimeError("killed")


def test_a_run_stopped_anywhere_and_run_again_writes_the_same_files(tmp_path, whole):
    for stop in range(1, 13):
        folder, stopping = tmp_path / str(stop), Stopping(stop)
        with pytest.raises((KeyboardInterrupt, RuntimeError)):
            attack(folder, some(12), stopping)
        assert len(read_lines(folder / "examples.jsonl")) == stop
        assert not (folder / "summary.json").exists()
        attack(folder, some(12), stopping)
        assert stopping.calls == 12  # no sentence is attacked twice
        for name in FILES:
            assert (folder / name).read_bytes() == (whole / name).read_bytes()
        ours, theirs = (json.loads((f / "summary.json").read_text()) for f in (folder, whole))
        for key in set(ours) - SPEED:
            assert ours[key] == theirs[key]


def test_stopped_again_and_again(tmp_path, whole):
    def stop(tally: Tally) -> None:
        raise KeyboardInterrupt

    for _ in range(12):
        with pytest.raises(KeyboardInterrupt):
            attack(tmp_path, some(12), stop)
    attack(tmp_path, some(12), stop)  # nothing is left to be attacked
    assert (tmp_path / "examples.jsonl").read_bytes() == (whole / "examples.jsonl").read_bytes()


def test_a_last_line_torn_at_any_byte_is_attacked_again(tmp_path, whole):
    text = (whole / "examples.jsonl").read_bytes()
    line = text.split(b"\n")[1]
    zurich = text.index("ü".encode())
    cuts = [0, 1, 40, zurich + 1, zurich + 2, text.index(line) + len(line) - 1, len(text) - 1]
    cuts += np.random.default_rng(0).integers(0, len(text), 4).tolist()
    for number, cut in enumerate(cuts):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "run.json").write_text(json.dumps(RUN))
        (folder / "examples.jsonl").write_bytes(text[:cut])
        attack(folder, some(12))
        for name in FILES:
            assert (folder / name).read_bytes() == (whole / name).read_bytes()


def test_zeros_after_a_power_cut_are_a_torn_line_too(tmp_path):
    path = tmp_path / "examples.jsonl"
    path.write_bytes(b'{"id": 1}\n\0\0\0\0')
    assert read_lines(path) == [{"id": 1}]


def test_a_run_killed_before_its_summary_reports_no_speed(tmp_path, whole):
    for name in ("run.json", "examples.jsonl"):
        (tmp_path / name).write_bytes((whole / name).read_bytes())
    summary = attack(tmp_path, some(12))
    assert {summary[key] for key in SPEED} == {None}
    assert summary["clean"] == json.loads((whole / "summary.json").read_text())["clean"]


def test_a_finished_folder_is_not_attacked_again(tmp_path, whole):
    before = contents(whole)
    times = {path: path.stat().st_mtime_ns for path in whole.iterdir()}

    class Untouchable:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"the victim was asked for {name}")

    summary = attack_into(whole, lexicon_attack(), some(12), Untouchable(), dict(RUN))
    assert contents(whole) == before
    assert {path: path.stat().st_mtime_ns for path in whole.iterdir()} == times
    assert summary == json.loads(before["summary.json"])


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("seed", 4, "seed: 3 there, 4 here"),
        ("limit", 7, "limit: None there, 7 here"),
        ("data", "other", "data: None there, 'other' here"),
        ("settings", {"goal": {"metric": "las"}}, "settings.goal.metric: None there, 'las' here"),
    ],
)
def test_the_folder_of_another_run_is_refused_and_left_alone(whole, key, value, message):
    before = contents(whole)
    with pytest.raises(InputError, match=f"holds another run .{message}.*--out"):
        attack_into(
            whole,
            lexicon_attack(),
            some(12),
            ParserVictim(trained_parser()),
            {**RUN, key: value},
        )
    assert contents(whole) == before


def test_a_folder_in_which_nothing_was_finished_is_free(tmp_path, whole):
    (tmp_path / "run.json").write_text('{"attack": "with a model that was not there"}')
    (tmp_path / "examples.jsonl").touch()
    attack(tmp_path, some(12))
    for name in (*FILES, "run.json"):
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("run.json", None, "no run.json"),
        ("run.json", "{", "run.json: no JSON object"),
        ("run.json", "[1]", "run.json: no JSON object"),
        ("examples.jsonl", '{"id": 0}\n{"id": \n{"id": 2}\n', "examples.jsonl:2: no sentence"),
        ("examples.jsonl", "{}\n", "examples.jsonl:1: no sentence"),
        ("examples.jsonl", "3\n", "examples.jsonl:1: no sentence"),
    ],
)
def test_broken_files_are_named(tmp_path, whole, name, content, message):
    for file, text in contents(whole).items():
        (tmp_path / file).write_bytes(text)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        attack(tmp_path, some(12))


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file/out: the output folder is not writable"):
        attack(tmp_path / "file" / "out", some(2))


def test_the_summary_has_the_promised_keys(whole):
    summary = json.loads((whole / "summary.json").read_text())
    assert set(summary) == SPEED | {
        "task",
        "attack",
        "victims",
        "seed",
        "n_sentences",
        "n_words",
        "clean",
        "attacked",
        "success_rate",
        "edits_per_sentence",
        "edit_rate",
        "queries_per_sentence",
        "perplexity",
        "versions",
    }
    assert summary["task"] == "dependency"
    assert {key: summary[key] for key in ("attack", "victims", "seed")} == {
        key: RUN[key] for key in ("attack", "victims", "seed")
    }
    assert summary["n_sentences"] == 12
    assert summary["victim_forwards"] > 0
    assert summary["seconds"] > 0
    assert summary["victim_share_of_seconds"] > 0
    assert summary["versions"]["torch"] == str(torch.__version__)
    assert sorted(contents(whole)) == sorted([*FILES, "run.json", "summary.json"])


def test_lines_are_sorted_by_id_whatever_order_sentences_finish_in(tmp_path):
    order: list[int] = []
    examples = some(30)[::-1]
    attack(tmp_path, examples, lambda tally: order.append(tally.sums["words"]), live=3)
    lines = read_lines(tmp_path / "examples.jsonl")
    assert [line["id"] for line in lines] == list(range(30))
    lengths = [len(line["tokens"]) for line in lines]
    assert np.diff([0, *order]).tolist() != lengths
    adversarial = read_treebank(tmp_path / "adversarial.conllu")
    assert [list(example.sentence.words) for example in adversarial] == [
        line["adversarial_tokens"] for line in lines
    ]


@pytest.mark.parametrize("punctuation", ["none", "penn"])
def test_reported_scores_are_those_of_the_files_parsed_again(tmp_path, punctuation):
    parser, examples = trained_parser(), some(50)
    chosen = lexicon_attack(seed=3)
    chosen.goal = AttachmentDrop(punctuation=punctuation)
    summary = attack_into(tmp_path, chosen, examples, ParserVictim(parser), dict(RUN))
    adversarial = read_treebank(tmp_path / "adversarial.conllu")
    for which, those in (("clean", examples), ("attacked", adversarial)):
        scores = evaluate(parser, those, punctuation, batch_words=77)
        assert summary[which] == pytest.approx({name: scores[name] for name in ("uas", "las")})
    assert summary["attacked"]["uas"] < summary["clean"]["uas"] - 5
    lines = read_lines(tmp_path / "examples.jsonl")
    worse = [line["attacked"]["correct_heads"] < line["clean"]["correct_heads"] for line in lines]
    assert [line["success"] for line in lines] == worse
    assert summary["success_rate"] == pytest.approx(100 * sum(worse) / 50)
    for example, line, other in zip(examples, lines, adversarial, strict=True):
        assert other.gold == example.gold
        assert other.sentence.xpos == example.sentence.xpos
        pairs = zip(line["tokens"], line["adversarial_tokens"], strict=True)
        assert line["edited"] == [i for i, (a, b) in enumerate(pairs) if a != b]


def test_packing_changes_nothing(tmp_path):
    examples = some(50)
    for name, settings in {
        "one": {"batch_queries": 1, "live": 1},
        "full": {"batch_queries": 4096, "live": 256},
        "narrow": {"batch_words": 40, "live": 7},
    }.items():
        attack(tmp_path / name, examples, **settings)
    expected = {name: (tmp_path / "full" / name).read_bytes() for name in FILES}
    for folder in ("one", "narrow"):
        for name in FILES:
            assert (tmp_path / folder / name).read_bytes() == expected[name]


def test_the_sentences_of_two_processes_are_those_of_one(tmp_path):
    examples = some(20)
    for name, mine in (("all", examples), ("0", examples[0::2]), ("1", examples[1::2])):
        attack(tmp_path / name, mine)
    parts = [line for name in "01" for line in read_lines(tmp_path / name / "examples.jsonl")]
    parts.sort(key=lambda line: line["id"])
    assert parts == read_lines(tmp_path / "all" / "examples.jsonl")


@pytest.mark.parametrize("stops", [False, True])
def test_the_victim_is_left_as_it_was_found(tmp_path, stops):
    parser = trained_parser().train()
    parser.arc_dep.eval()
    frozen = parser.arc_head.linear.weight.requires_grad_(False)
    parser.arc_weight.grad = torch.ones_like(parser.arc_weight)
    modes = {name: module.training for name, module in parser.named_modules()}
    weights = {name: weight.clone() for name, weight in parser.state_dict().items()}
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()

    def stop(tally: Tally) -> None:
        if stops:
            raise KeyboardInterrupt

    try:
        attack_into(tmp_path, lexicon_attack(), some(9), ParserVictim(parser), dict(RUN), stop)
    except KeyboardInterrupt:
        assert stops
    assert torch.is_grad_enabled()
    assert {name: module.training for name, module in parser.named_modules()} == modes
    assert all(torch.equal(w, weights[name]) for name, w in parser.state_dict().items())
    assert [n for n, w in parser.named_parameters() if w.grad is not None] == ["arc_weight"]
    assert (parser.arc_weight.grad == 1).all()
    assert [w for w in parser.parameters() if not w.requires_grad] == [frozen]
    assert (parser.dtype, parser.device) == (torch.float64, torch.device("cpu"))
    assert torch.equal(torch.get_rng_state(), torch_state)
    assert np.array_equal(np.random.get_state()[1], numpy_state)
