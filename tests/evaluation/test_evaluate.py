"""Clean scores against a count over single sentences, and a parser left as it was found."""

import numpy as np
import pytest
import pytorch_lightning as pl
import torch

from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.evaluation.clean import predictions, scores_of
from robustparse.metrics import counted_words
from robustparse.models.victim import ModelVictim
from robustparse.types import DependencyTree, Example, Sentence
from sample_runs import sentences, trained_parser

UNKNOWN_LABEL = Example(
    1, Sentence(("the", "cats"), xpos=("DT", "NNS")), DependencyTree((2, 0), ("never", "root"))
)


def scored(parser, examples, punctuation="none", batch_words=None) -> dict[str, float | None]:
    found = predictions(ModelVictim([parser]), examples, batch_words)
    return scores_of(parser.task, found, examples, punctuation)


def by_hand(parser, examples, punctuation: str) -> dict[str, float]:
    """One sentence at a time, one word at a time."""
    heads = labels = words = complete = complete_with_labels = 0
    for example in examples:
        tree = parser.predict_step(parser.encode([example]).batch([0], 1.0), 0)[0].answer
        counted = np.flatnonzero(counted_words(example.sentence, punctuation))
        right = [tree.heads[word] == example.gold.heads[word] for word in counted]
        both = [
            found and tree.labels[word] == example.gold.labels[word]
            for found, word in zip(right, counted, strict=True)
        ]
        heads, labels, words = heads + sum(right), labels + sum(both), words + len(counted)
        complete, complete_with_labels = complete + all(right), complete_with_labels + all(both)
    shares = {"uas": heads / words, "las": labels / words}
    shares |= {"ucm": complete / len(examples), "lcm": complete_with_labels / len(examples)}
    return {name: 100 * share for name, share in shares.items()}


@pytest.mark.parametrize(
    ("punctuation", "batch_words"), [("none", 1), ("penn", 60), ("unicode", 60), ("none", 8000)]
)
def test_scores_equal_a_count_word_by_word(punctuation, batch_words):
    parser, examples = trained_parser(), sentences(40, "test")
    scores = scored(parser, examples, punctuation, batch_words)
    assert scores == pytest.approx(by_hand(parser, examples, punctuation))
    assert 20 < scores["las"] < scores["uas"] < 95


def test_a_label_never_seen_is_a_wrong_one(parser):
    tree = parser.predict_step(parser.encode([UNKNOWN_LABEL]).batch([0], 1.0), 0)[0].answer
    gold = DependencyTree(tree.heads, ("never", tree.labels[1]))
    scores = scored(parser, [Example(1, UNKNOWN_LABEL.sentence, gold)])
    assert scores == {"uas": 100.0, "las": 50.0, "ucm": 100.0, "lcm": 0.0}


def test_nothing_counted_gives_no_score(parser):
    only = Example(0, Sentence(("!", "?")), DependencyTree((0, 1), ("root", "punct")))
    scores = scored(parser, [only], "unicode")
    assert scores == dict.fromkeys(("uas", "las", "ucm", "lcm"))
    assert scored(parser, []) == scores


def test_predictions_are_each_sentences_own():
    parser, examples = trained_parser(), sentences(30, "test")
    found = {one.id: one.answer for one in predictions(ModelVictim([parser]), examples, 50)}
    assert len(found) == 30
    for example in examples:
        alone = parser.predict_step(parser.encode([example]).batch([0], 1.0), 0)[0]
        assert found[example.id] == alone.answer


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_a_trainer_returns_the_same_predictions(precision):
    parser = trained_parser()
    data = TreebankDataModule(folder="sample")
    trainer = pl.Trainer(
        accelerator="cpu",
        devices=1,
        precision=precision,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    batches = trainer.predict(parser, datamodule=data)
    found = [prediction for batch in batches for prediction in batch]
    assert found == list(predictions(ModelVictim([parser], precision), data.examples("test")))


def test_the_parser_is_left_as_it_was_found(make_parser, examples):
    parser = make_parser().train()
    parser.encoder.lstm.eval()
    parser.arc_attn.weight.grad = torch.ones_like(parser.arc_attn.weight)
    modes = {name: module.training for name, module in parser.named_modules()}
    state = torch.get_rng_state()
    first = scored(parser, examples)
    list(predictions(ModelVictim([parser]), examples))
    assert scored(parser, examples) == first
    assert {name: module.training for name, module in parser.named_modules()} == modes
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.is_grad_enabled()
    assert [name for name, weight in parser.named_parameters() if weight.grad is not None] == [
        "arc_attn.weight"
    ]
