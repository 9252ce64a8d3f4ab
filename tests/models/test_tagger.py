"""The CRF against all sequences of tags, and the tagger in batches of any size."""

import itertools

import numpy as np
import pytest
import torch

from robustparse.data.tags.schemes import legal
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models import BiLSTMTagger, ModelVictim
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.tags.crf import CRF, negative_log_likelihood, viterbi
from robustparse.types import Example, Sentence, TagSequence

TAGS = ("B-x", "I-x", "O", "V")
LENGTHS = torch.tensor([5, 3, 1])


def field(tags=TAGS, seed=0) -> tuple[CRF, torch.Tensor]:
    """A random field, and emissions for texts of `LENGTHS`."""
    generator = torch.Generator().manual_seed(seed)
    crf = CRF(tags).double()
    with torch.no_grad():
        for parameter in crf.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator).double())
    return crf, torch.randn(len(LENGTHS), 5, len(tags), generator=generator).double()


def every_sequence(crf, emissions, length, tags=TAGS) -> dict[tuple[int, ...], float]:
    """The score of each sequence that BIO allows, by the definition."""
    scores = {}
    for path in itertools.product(range(emissions.shape[-1]), repeat=length):
        if not legal([tags[tag] for tag in path]):
            continue
        score = crf.start[path[0]] + crf.end[path[-1]]
        score = score + sum(emissions[word, tag] for word, tag in enumerate(path))
        score = score + sum(crf.transitions[pair] for pair in itertools.pairwise(path))
        scores[path] = float(score)
    return scores


def test_the_crf_is_that_of_all_sequences() -> None:
    crf, emissions = field()
    gold = torch.tensor([[0, 1, 2, 3, 0], [3, -1, 2, 0, 0], [-1, 0, 0, 0, 0]])
    crf.requires_grad_(False)
    totals = crf.log_partition(emissions, LENGTHS)
    losses = negative_log_likelihood(crf, emissions, gold, LENGTHS)
    best = viterbi(emissions, LENGTHS, *crf.scores())
    marginals = crf.log_marginals(emissions, LENGTHS).exp()
    for row, length in enumerate(LENGTHS.tolist()):
        scores = every_sequence(crf, emissions[row], length)
        weights = {path: np.exp(score) for path, score in scores.items()}
        total = sum(weights.values())
        assert float(totals[row]) == pytest.approx(np.log(total), abs=1e-10)
        wanted = gold[row, :length].tolist()
        agreeing = sum(
            weight
            for path, weight in weights.items()
            if all(want in (-1, tag) for want, tag in zip(wanted, path, strict=True))
        )
        assert float(losses[row]) == pytest.approx(np.log(total / agreeing), abs=1e-10)
        assert tuple(best[row, :length].tolist()) == max(scores, key=scores.__getitem__)
        assert not best[row, length:].any()
        for word, tag in itertools.product(range(length), range(len(TAGS))):
            share = sum(weight for path, weight in weights.items() if path[word] == tag) / total
            assert float(marginals[row, word, tag]) == pytest.approx(share, abs=1e-10)


def test_no_illegal_sequence_is_predicted() -> None:
    for seed in range(40):
        crf, emissions = field(seed=seed)
        best = viterbi(5 * emissions, LENGTHS, *crf.scores())
        for row, length in enumerate(LENGTHS.tolist()):
            assert legal([TAGS[tag] for tag in best[row, :length].tolist()])


WORDS = "the cat saw a small dog near New York today"


def sentences(label: bool = False) -> list[Example]:
    rng = np.random.default_rng(0)
    made = []
    for id_ in range(12):
        words = rng.choice(WORDS.split(), rng.integers(1, 9)).tolist()
        tags = ["B-x" if word[0].isupper() else "O" for word in words]
        made.append(Example(id_, Sentence((*words,)), TagSequence((*tags,), "ny"[id_ % 2] * label)))
    return made


def tagger(crf: bool, label: bool = False, seed: int = 0) -> BiLSTMTagger:
    known = Vocabulary.from_examples([*sentences(label), *extra(label)], min_count=1)
    encoder = LSTMEncoder(6, 4, 4, 5, 1)
    model = BiLSTMTagger(encoder, crf, seed=seed, vocabulary=known).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.5 * torch.randn(parameter.shape, generator=generator).double())
    return model.eval()


def extra(label: bool) -> list[Example]:
    tags = TagSequence(("B-x", "I-x", "O"), "n" * label)
    return [Example(99, Sentence(("New", "York", "now")), tags)]


@pytest.mark.parametrize(("crf", "label"), [(False, False), (True, False), (True, True)])
def test_batches_change_neither_answers_nor_losses(crf: bool, label: bool) -> None:
    model, examples = tagger(crf, label), sentences(label)
    victim = ModelVictim([model])
    words = [example.sentence for example in examples]
    assert model.predict(words, 1) == model.predict(words, 4096)
    together = model.encode(examples).batch(range(len(examples)), 1.0)
    with torch.no_grad():
        losses = model.loss(model(together), together)
        kinds = model.decisions(model(together), together)
    assert [len(kind.choices) for kind in kinds] == [1] * (1 + label)
    alone = [victim.losses([example])[0] for example in examples]
    assert losses.numpy() == pytest.approx(np.array(alone), abs=1e-10)
    if label:
        assert {answer.label for answer in model.predict(words)} <= {"n", "y"}


@pytest.mark.parametrize("crf", [False, True])
def test_gradients_come_from_the_chosen_words_only(crf: bool) -> None:
    model, examples = tagger(crf), sentences()
    batch = model.encode(examples).batch([0, 1, 2], 1.0)
    lengths = batch.lengths.tolist()
    ids = [model.codec.name_ids(examples[row].gold.tags) for row in range(3)]
    for loss in (model.loss, model.margin):
        chosen = [np.arange(n) == 0 for n in lengths]
        restricted = model.codec.restrict([(tags,) for tags in ids], chosen)
        some = {**batch.gold, "tags": torch.from_numpy(restricted["tags"])}
        batch_of_some = type(batch)(**{**vars(batch), "gold": some})
        states = model(batch)
        less, all_words = loss(states, batch_of_some), loss(states, batch)
        assert torch.isfinite(less).all()
        if loss == model.loss:
            assert (less <= all_words + 1e-9).all()


@torch.no_grad()
def test_members_of_an_ensemble_choose_the_sequence_with_the_best_mean_score() -> None:
    models = [tagger(True, seed=seed) for seed in range(2)]
    models[1].output.weight.mul_(4.0)  # of more weight than the first
    examples = [example for example in sentences() if len(example.sentence) < 7]
    batches = [model.encode(examples).batch(range(len(examples)), 1.0) for model in models]
    states = [model(batch) for model, batch in zip(models, batches, strict=True)]
    (found,) = models[0].decode(models, states, batches)
    differs = False
    for row, example in enumerate(examples):
        length = len(example.sentence)
        first, second = (
            every_sequence(model.field, state.tags[row], length, model.codec.tags)
            for model, state in zip(models, states, strict=True)
        )
        best = max(first, key=lambda path: first[path] + second[path])
        assert tuple(found[row, :length].tolist()) == best
        differs |= best != max(first, key=first.__getitem__)
    assert differs


def test_a_tagger_does_not_read_the_tags_that_it_predicts() -> None:
    sentence = Sentence(("a", "b"), xpos=("X", "Y"))
    known = Vocabulary.from_examples([Example(0, sentence, TagSequence(("X", "Y")))])
    with pytest.raises(InputError) as error:
        BiLSTMTagger(LSTMEncoder(4, 0, 4, 5, 1, tag_dim=3), vocabulary=known)
    assert error.value.key == "encoder"


def test_scores_of_validation_are_those_of_the_task() -> None:
    model, examples = tagger(False, label=True), sentences(label=True)
    metric = model.codec.metric()
    batch = model.encode(examples).batch(range(len(examples)), 1.0)
    answers = model.predict([example.sentence for example in examples])
    with torch.no_grad():
        model.add_scores(metric, batch)
    scores = metric.compute()
    right = [
        a == b
        for example, answer in zip(examples, answers, strict=True)
        for a, b in zip(example.gold.tags, answer.tags, strict=True)
    ]
    assert scores["accuracy"] == pytest.approx(100 * np.mean(right))
    labels = [a.label == e.gold.label for a, e in zip(answers, examples, strict=True)]
    assert scores["label_accuracy"] == pytest.approx(100 * np.mean(labels))
