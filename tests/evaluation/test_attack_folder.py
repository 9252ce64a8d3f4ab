"""What an attack into a folder reports: scores that a re-parse confirms."""

import json

import numpy as np
import pytest
import torch
from attack_folders import FILES, RUN, TASK, attack, contents, some

from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.data.conllu import read_treebank
from robustparse.errors import InputError
from robustparse.evaluation.attack_folder import attack_into
from robustparse.evaluation.attack_sums import AttackSums
from robustparse.evaluation.clean import predictions, scores_of
from robustparse.evaluation.example_records import read_records
from robustparse.models.victim import ModelVictim
from sample_runs import SPEED, lexicon_attack, trained_parser


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file/out: the output folder is not writable"):
        attack(tmp_path / "file" / "out", some(2))


def test_the_summary_has_the_promised_keys(whole):
    summary = json.loads((whole / "summary.json").read_text())
    assert set(summary) == SPEED | {
        "perturbed_words",
        "task",
        "attack",
        "victims",
        "seed",
        "n_sentences",
        "n_skipped",
        "n_words",
        "clean",
        "attacked",
        "success_rate",
        "strict_success_rate",
        "targeted",
        "edits_per_sentence",
        "edit_rate",
        "queries_per_sentence",
        "perplexity",
        "word_similarity",
        "sentence_similarity",
        "edits_per_success",
        "queries_per_success",
        "queries_per_failure",
        "success_by_class",
        "success_within",
        "candidates",
        "unseen",
        "by_tag",
        "by_relation",
        "reach",
        "warnings",
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


@pytest.mark.parametrize("content", ["{", "[]"])
def test_a_damaged_summary_of_a_finished_attack(tmp_path, content):
    examples = some(3)
    attack(tmp_path, examples)
    before = contents(tmp_path)
    (tmp_path / "summary.json").write_text(content)
    with pytest.raises(InputError, match="delete the file and run") as error:
        attack(tmp_path, examples)
    assert error.value.path == str(tmp_path / "summary.json")
    (tmp_path / "summary.json").unlink()
    attack(tmp_path, examples)
    after = contents(tmp_path)
    assert json.loads(after.pop("summary.json"))["seconds"] is None
    assert after == {name: text for name, text in before.items() if name != "summary.json"}


def test_lines_are_sorted_by_id_whatever_order_sentences_finish_in(tmp_path):
    order: list[int] = []
    examples = some(30)[::-1]
    attack(tmp_path, examples, lambda tally: order.append(tally.sums["words"]), live=3)
    lines = list(read_records(tmp_path / "examples.jsonl"))
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
    summary = attack_into(tmp_path, TASK, chosen, examples, ModelVictim([parser]), dict(RUN))
    adversarial = read_treebank(tmp_path / "adversarial.conllu")
    for which, those in (("clean", examples), ("attacked", adversarial)):
        found = predictions(ModelVictim([parser]), those, batch_words=77)
        scores = scores_of(TASK, found, those, punctuation)
        assert summary[which] == pytest.approx({name: scores[name] for name in ("uas", "las")})
    assert summary["attacked"]["uas"] < summary["clean"]["uas"] - 5
    lines = list(read_records(tmp_path / "examples.jsonl"))
    worse = [line["attacked"]["correct_heads"] < line["clean"]["correct_heads"] for line in lines]
    assert [line["success"] for line in lines] == worse
    assert summary["success_rate"] == pytest.approx(100 * sum(worse) / 50)
    for example, line, other in zip(examples, lines, adversarial, strict=True):
        assert other.gold == example.gold
        assert other.sentence.xpos == example.sentence.xpos
        pairs = zip(line["tokens"], line["adversarial_tokens"], strict=True)
        assert line["edited"] == [i for i, (a, b) in enumerate(pairs) if a != b]


@pytest.mark.parametrize("stops", [False, True])
def test_the_victim_is_left_as_it_was_found(tmp_path, stops):
    parser = trained_parser().train()
    parser.arc_mlp_d.eval()
    frozen = parser.arc_mlp_h.linear.weight.requires_grad_(False)
    parser.arc_attn.weight.grad = torch.ones_like(parser.arc_attn.weight)
    modes = {name: module.training for name, module in parser.named_modules()}
    weights = {name: weight.clone() for name, weight in parser.state_dict().items()}
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()

    def stop(tally: AttackSums) -> None:
        if stops:
            raise KeyboardInterrupt

    try:
        attack_into(
            tmp_path, TASK, lexicon_attack(), some(9), ModelVictim([parser]), dict(RUN), stop
        )
    except KeyboardInterrupt:
        assert stops
    assert torch.is_grad_enabled()
    assert {name: module.training for name, module in parser.named_modules()} == modes
    assert all(torch.equal(w, weights[name]) for name, w in parser.state_dict().items())
    assert [n for n, w in parser.named_parameters() if w.grad is not None] == ["arc_attn.weight"]
    assert (parser.arc_attn.weight.grad == 1).all()
    assert [w for w in parser.parameters() if not w.requires_grad] == [frozen]
    assert (parser.dtype, parser.device) == (torch.float64, torch.device("cpu"))
    assert torch.equal(torch.get_rng_state(), torch_state)
    assert np.array_equal(np.random.get_state()[1], numpy_state)
