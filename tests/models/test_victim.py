"""A parser under attack answers as it would one sentence at a time, and is left as it was found."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from robustparse.attacks.victim import LexicalVictim
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models.checkpoint import KEY, describe
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.dependency.tree_decoding import mst
from robustparse.models.load import load
from robustparse.models.victim import ModelVictim
from robustparse.types import TextRows


def arrays(victim: ModelVictim, *texts: str) -> TextRows:
    split = [text.split() for text in texts]
    words = np.zeros((len(split), max(map(len, split))), dtype=np.int32)
    for row, forms in enumerate(split):
        words[row, : len(forms)] = victim.intern(forms)
    lengths = np.array([len(forms) for forms in split], dtype=np.int32)
    return TextRows(words, np.zeros_like(words), lengths)


TEXTS = ("the cats saw the dog", "Yes", "zebra feed cats", "saw saw saw saw saw saw saw")


def test_a_parse_is_the_parsers_own(parser, examples):
    victim = ModelVictim([parser])
    texts = [" ".join(example.sentence.words) for example in examples]
    with victim.evaluating():
        heads, labels = victim.predict(arrays(victim, *texts))
    expected = parser.predict_step(parser.encode(examples).batch(range(len(examples)), 1.0), 0)
    for row, (example, prediction) in enumerate(zip(examples, expected, strict=True)):
        length = len(example.sentence)
        assert tuple(heads[row, :length]) == prediction.answer.heads
        assert (
            tuple(parser.vocabulary.labels[x] for x in labels[row, :length])
            == prediction.answer.labels
        )


def test_a_text_is_parsed_the_same_in_any_company(parser):
    victim = ModelVictim([parser])
    with victim.evaluating():
        together = victim.predict(arrays(victim, *TEXTS))
        for row, text in enumerate(TEXTS):
            alone = victim.predict(arrays(victim, text))
            for part, whole in zip(alone, together, strict=True):
                assert part[0].tolist() == whole[row, : len(text.split())].tolist()


def test_the_unknown_row_parses_as_the_unknown_word(make_parser):
    victim = ModelVictim([make_parser(character_dim=0)])
    words, tags, lengths = arrays(victim, "the zebra saw the dog")
    unknown = words.copy()
    unknown[0, 1] = victim.unknown
    with victim.evaluating():
        # Without characters a word never seen is nothing but the unknown word.
        first, second = (
            victim.predict(TextRows(words, tags, lengths)),
            victim.predict(TextRows(unknown, tags, lengths)),
        )
    assert all(np.array_equal(*parts) for parts in zip(first, second, strict=True))


def test_words_it_knows(make_parser, vocabulary, tmp_path):
    # "cats" and "the" are there twice; "saw" once, and has no row.
    words = ["the", "Cats", "saw", "zebra"]
    known = [word.lower() in vocabulary.words for word in words]
    assert known == [True, True, False, False]
    victim = ModelVictim([make_parser()])
    rows = len(victim.model.encoder.table)
    assert isinstance(victim, LexicalVictim)
    assert victim.embedded(words).tolist() == known
    assert victim.seen_in_training(words).tolist() == known
    assert len(victim.model.encoder.table) == rows  # asking leaves no trace
    (tmp_path / "vectors.txt").write_text("saw 1 0 0 0 0\nZebra 0 1 0 0 0\n")
    static = ModelVictim([make_parser(vectors=str(tmp_path / "vectors.txt"))])
    # A vector is looked up as the word is, then lower-cased.
    assert static.embedded([*words, "Saw", "Zebra"]).tolist() == [
        *known[:2],
        True,
        False,
        True,
        True,
    ]
    assert static.seen_in_training(words).tolist() == known
    assert ModelVictim([make_parser(word_dim=0)]).embedded(words) is None


@pytest.mark.parametrize("fails", [False, True])
def test_the_victim_is_left_as_it_was_found(parser, fails):
    victim = ModelVictim([parser])
    parser.train()
    parser.encoder.eval()
    parser.encoder.lstm.train()
    parser.arc_mlp_d.linear.eval()
    frozen = parser.arc_mlp_h.linear.weight.requires_grad_(False)
    parser.arc_attn.weight.grad = torch.ones_like(parser.arc_attn.weight)
    modes = {name: module.training for name, module in parser.named_modules()}
    weights = {name: weight.clone() for name, weight in parser.state_dict().items()}
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()
    assert torch.is_grad_enabled()

    try:
        with victim.evaluating():
            assert not torch.is_grad_enabled()
            assert not any(module.training for module in parser.modules())
            first = victim.predict(arrays(victim, *TEXTS))
            second = victim.predict(arrays(victim, *TEXTS))
            if fails:
                raise RuntimeError("interrupted")
    except RuntimeError:
        assert fails
    assert all(np.array_equal(*parts) for parts in zip(first, second, strict=True))

    assert torch.is_grad_enabled()
    assert {name: module.training for name, module in parser.named_modules()} == modes
    for name, weight in parser.state_dict().items():
        assert torch.equal(weight, weights[name]), name
    gradients = {name for name, weight in parser.named_parameters() if weight.grad is not None}
    assert gradients == {"arc_attn.weight"}
    assert (parser.arc_attn.weight.grad == 1).all()
    assert [w for w in parser.parameters() if not w.requires_grad] == [frozen]
    assert parser.dtype == torch.float64
    assert torch.equal(torch.get_rng_state(), torch_state)
    assert np.array_equal(np.random.get_state()[1], numpy_state)


def test_labels_have_ids_and_names(parser):
    victim = ModelVictim([parser])
    names = list(parser.vocabulary.labels)
    ids = victim.name_ids([*names, "never-seen"])
    assert ids.tolist() == [*range(len(names)), -1]
    (tree,) = victim.answers((np.zeros((1, len(names)), np.int16), ids[None, :-1]), [len(names)])
    assert list(tree.labels) == names


def test_words_tags_and_the_training_dictionary(parser):
    victim = ModelVictim([parser])
    first, other, again = victim.intern(["cats", "Cats", "cats"]).tolist()
    assert first == again != other
    assert min(first, other) > victim.unknown
    assert victim.intern_marks(["NN", "DT"]).shape == (2,)
    assert victim.training_tags["xpos"] == {"cats": "NNS", "the": "DT"}
    assert list(victim.training_words) == list(victim.training_tags["xpos"])


@pytest.mark.parametrize("kind", ["parser", "pointer"])
def test_gradients_are_those_of_the_loss_by_finite_differences(kind, examples, request):
    parser = request.getfixturevalue(kind)
    victim = ModelVictim([parser])
    numbered = parser.encode(examples)
    batch = numbered.batch(range(len(examples)), 1.0)
    arrays_ = arrays(victim, *(" ".join(example.sentence.words) for example in examples))
    lengths = batch.lengths.tolist()
    gold = [
        (batch.gold["heads"][row, :length].numpy(), batch.gold["labels"][row, :length].numpy())
        for row, length in enumerate(lengths)
    ]
    with victim.evaluating():
        every = [np.ones(length, dtype=np.bool_) for length in lengths]
        gradient, vectors, norms = victim.gradient(arrays_, gold, "cross_entropy", every)
        assert not torch.is_grad_enabled()
        other, _, _ = victim.gradient(arrays_, gold, "margin", every)
        assert not np.array_equal(other, gradient)
        embedded = parser.embed(batch)[:, 1:].numpy()
        assert vectors.shape == gradient.shape == embedded.shape
        rng = np.random.default_rng(0)
        for row, length in enumerate(lengths):
            assert np.array_equal(vectors[row, :length], embedded[row, :length])
            assert np.allclose(norms[row], np.linalg.norm(gradient[row], axis=1))
            delta = parser.zero_delta(batch)
            step = torch.from_numpy(rng.normal(size=gradient.shape[2]))
            word = int(rng.integers(length))
            delta[row, 1 + word] = 1e-5 * step
            up, down = (
                parser.loss(parser(batch, delta), batch)[row],
                parser.loss(parser(batch, -delta), batch)[row],
            )
            slope = float(up - down) / 2e-5
            assert slope == pytest.approx(float(step.numpy() @ gradient[row, word]), abs=1e-6)
    assert all(weight.grad is None for weight in parser.parameters())


def test_mixed_precision_holds_while_evaluating(parser, examples):
    victim, seen = ModelVictim([parser.float()], "bf16-mixed"), []
    parser.arc_mlp_d.linear.register_forward_hook(lambda *call: seen.append(call[2].dtype))
    texts = [" ".join(example.sentence.words) for example in examples]
    with victim.evaluating():
        heads, _ = victim.predict(arrays(victim, *texts))
    victim.predict(arrays(victim, *texts))
    assert seen == [torch.bfloat16, torch.float32]
    with ModelVictim([parser]).evaluating(), torch.autocast("cpu", torch.bfloat16):
        assert np.array_equal(victim.predict(arrays(victim, *texts))[0], heads)


def test_a_precision_that_is_none(parser):
    with pytest.raises(InputError, match=r"precision must be one of .*bf16-mixed.*'fp8'"):
        ModelVictim([parser], "fp8")


def shuffled_words(vocabulary: Vocabulary) -> Vocabulary:
    return replace(vocabulary, words=vocabulary.words[::-1])


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("mean", ["probabilities", "logits"])
def test_several_parsers_answer_by_their_mean(make_parser, vocabulary, examples, mean, labelled):
    def chances(scores: torch.Tensor) -> np.ndarray:
        return (scores.softmax(-1) if mean == "probabilities" else scores.exp()).numpy()

    def average(values: list, axis: int) -> np.ndarray:
        if mean == "probabilities":
            return np.mean(values, axis=axis)
        return np.exp(np.log(values).mean(axis=axis))

    # Each numbers words in its own way.
    members = [make_parser(0), make_parser(1, known=shuffled_words(vocabulary))]
    members[0].decoder, members[0].mean, members[0].labelled = "mst", mean, labelled
    victim = ModelVictim(members)
    texts = [" ".join(example.sentence.words) for example in examples]
    with victim.evaluating():
        heads, labels = victim.predict(arrays(victim, *texts))
        for row, example in enumerate(examples):
            batches = [one.encode([example]).batch([0], 1.0) for one in members]
            scores = [one(batch) for one, batch in zip(members, batches, strict=True)]

            def of_labels(dependent: int, head: int, scores: list = scores) -> np.ndarray:
                at, found = [torch.tensor([place]) for place in (0, dependent, head)], []
                for one, own in zip(members, scores, strict=True):
                    found.append(chances(one._label_scores(own, *at)[0]))
                return average(found, axis=0)

            arcs = average([chances(own.arcs[0]) for own in scores], axis=0)
            arcs /= arcs.sum(-1, keepdims=True)
            roots = np.array([label == "root" for label in vocabulary.labels])
            for place in product(range(len(arcs)), repeat=2) if labelled else ():
                found = of_labels(*place)
                arcs[place] *= found[roots == (place[1] == 0)].max() / found.sum()
            length = len(example.sentence)
            (best,) = mst(np.log(arcs)[None], [length])
            assert heads[row, :length].tolist() == best[:length].tolist()
            for word in range(length):
                possible = roots == (best[word] == 0)
                found = np.where(possible, of_labels(word + 1, int(best[word])), 0)
                assert labels[row, word] == found.argmax()
    alone = [ModelVictim([one]) for one in members]
    own = [one.predict(arrays(one, *texts))[0].tolist() for one in alone]
    assert len({str(heads.tolist()), *map(str, own)}) == 3  # it is neither's answer


def test_words_that_every_member_reads_alike_share_a_row(make_parser, monkeypatch):
    """As words with one code of an encoding; marks share rows in the same way."""
    members = [make_parser(0), make_parser(1)]
    for member, length in zip(members, (1, 2), strict=True):
        intern = member.encoder.intern
        monkeypatch.setattr(
            member.encoder,
            "intern",
            lambda words, intern=intern, length=length: intern([word[:length] for word in words]),
        )
    victim = ModelVictim(members)
    first, second, *others = victim.intern(["cat", "cab", "cot", "dog"]).tolist()
    assert first == second
    assert len({first, *others}) == 3
    again = victim.intern(["dog", "cast", "do", "c"]).tolist()
    assert again[:3] == [others[1], first, others[1]]
    assert again[3] not in (first, *others)
    rows = np.array([first, *others, *again], dtype=np.int32)
    words = ["cat", "cot", "dog", "dog", "cast", "do", "c"]
    for number, member in enumerate(members):
        expected = member.encoder.intern(words).tolist()
        assert victim._words.of_member(number, rows).tolist() == expected


def test_a_parser_twice_is_that_parser(parser, examples):
    texts = [" ".join(example.sentence.words) for example in examples]
    answers = []
    for members in ([parser], [parser, parser]):
        victim = ModelVictim(members)
        with victim.evaluating():
            found = victim.predict(arrays(victim, *texts))
        answers.append(victim.answers(found, [len(text.split()) for text in texts]))
    assert answers[0] == answers[1]


def test_parsers_that_cannot_answer_together_are_refused(make_parser, vocabulary):
    other = replace(vocabulary, labels=(*vocabulary.labels[1:], "other"))
    with pytest.raises(InputError) as refused:
        ModelVictim([make_parser(), make_parser(known=other)])
    assert refused.value.key == "checkpoint"
    assert "other" in refused.value.found

    class Another(BiaffineParser):
        pass

    reordered = replace(vocabulary, labels=vocabulary.labels[::-1])
    with pytest.raises(InputError, match="in another order"):
        ModelVictim([make_parser(), make_parser(known=reordered)])
    changed = make_parser()
    changed.__class__ = Another
    for members in ([], [make_parser(), changed]):
        with pytest.raises(InputError) as refused:
            ModelVictim(members)
        assert refused.value.key == "checkpoint"


def test_parsers_of_other_labels_or_data_are_refused_by_path(make_parser, vocabulary, tmp_path):
    fewer = replace(vocabulary, labels=vocabulary.labels[1:])
    made = {"one": ({}, "a"), "labels": ({"known": fewer}, "a"), "data": ({}, "b")}
    made |= {"same": ({}, "a"), "old": ({}, None)}  # the first checkpoints do not say
    for name, (settings, trained_on) in made.items():
        parser = make_parser(**settings)
        content = {KEY: describe(parser, parser.vocabulary, trained_on)}
        torch.save({**content, "state_dict": parser.state_dict()}, tmp_path / name)
    found = {name: load(tmp_path / name) for name in made}
    for name, says in (("labels", f"different labels: {vocabulary.labels[0]}"), ("data", "data")):
        with pytest.raises(InputError) as refused:
            ModelVictim([found["one"], found["same"], found[name]])
        assert refused.value.path == str(tmp_path / name)
        assert f"it and {tmp_path / 'one'} " in refused.value.found
        assert says in refused.value.found
    ModelVictim([found["one"], found["same"], found["old"]])
    with pytest.raises(InputError, match=f"it and {tmp_path / 'one'} were trained on different"):
        ModelVictim([found["old"], found["one"], found["data"]])


def test_white_boxes_see_into_one_parser(make_parser):
    victim = ModelVictim([make_parser(0), make_parser(1)])
    with pytest.raises(InputError) as refused:
        victim.vectors(victim.intern(["cats"]))
    assert "black-box" in refused.value.remedy
