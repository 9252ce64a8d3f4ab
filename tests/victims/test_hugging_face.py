"""A Hugging Face classifier as a victim: its pipeline's answers, and gradients by autograd."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.processors import ByteLevel as ByteLevelOffsets
from transformers import (
    AutoTokenizer,
    GPT2Config,
    GPT2ForSequenceClassification,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForSequenceClassification,
    pipeline,
)

from robustparse.api.evaluate import evaluate
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.search.beam import Greedy
from robustparse.attacks.search.importance import GreedyByImportance
from robustparse.attacks.search.rankings import GradientNorm
from robustparse.errors import InputError
from robustparse.types import Example, Sentence, TextRows
from robustparse.victims import HuggingFaceClassifier
from tiny_models import save_classifier

LABELS = ["negative", "neutral", "positive"]  # as `save_classifier`
WORDS = ("the", "cat", "cats", "dog", "saw", "sawing", "zebra", "-", "dog's")


def save_gpt2(folder: Path) -> Path:
    """A random GPT-2 with three labels, whose tokenizer has bytes and no padding."""
    letters = sorted(ByteLevel.alphabet())
    vocabulary = {"<|endoftext|>": 0} | {letter: 1 + row for row, letter in enumerate(letters)}
    merges = [("c", "a"), ("ca", "t"), ("Ġ", "d"), ("t", "h"), ("th", "e")]
    vocabulary |= {"".join(pair): len(vocabulary) + row for row, pair in enumerate(merges)}
    tokenizer = Tokenizer(BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder, tokenizer.post_processor = ByteLevelDecoder(), ByteLevelOffsets()
    special = dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|endoftext|>")
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **special)
    config = GPT2Config(
        **{"vocab_size": len(vocabulary), "n_positions": 64, "n_embd": 16, "n_layer": 2},
        **{"n_head": 2, "initializer_range": 0.5, "id2label": dict(enumerate(LABELS))},
    )
    _save(GPT2ForSequenceClassification, config, folder)
    fast.save_pretrained(folder)
    return folder


def _save(kind: Any, config: Any, folder: Path) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        kind(config).save_pretrained(folder)


MODELS = {"bert": save_classifier, "gpt2": save_gpt2}


@pytest.fixture(scope="module", params=MODELS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return MODELS[request.param](tmp_path_factory.mktemp("hugging_face") / request.param)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_classifier(tmp_path_factory.mktemp("hugging_face") / "bert")


def texts(number: int, longest: int = 12) -> list[list[str]]:
    rng = np.random.default_rng(1)
    return [list(rng.choice(WORDS, rng.integers(1, longest))) for _ in range(number)]


def answered(folder: Path, number: int) -> list[Example]:
    """Texts whose gold labels are the model's own."""
    asked = texts(number)
    labels = [label for label, _ in HuggingFaceClassifier(str(folder), device="cpu").answer(asked)]
    return [
        Example(row, Sentence(tuple(words)), label)
        for row, (words, label) in enumerate(zip(asked, labels, strict=True))
    ]


def by_pipeline(folder: Path, asked: list[Any]) -> list[dict[str, float]]:
    """The answers of transformers itself, one text at a time."""
    classify = pipeline("text-classification", str(folder), top_k=None, device="cpu")
    classify.tokenizer.pad_token = classify.tokenizer.pad_token or "<|endoftext|>"
    answers = (classify(text, truncation=True) for text in asked)
    flat = (answer[0] if isinstance(answer[0], list) else answer for answer in answers)
    return [{row["label"]: row["score"] for row in answer} for answer in flat]


@pytest.mark.parametrize("pairs", [False, True])
def test_it_answers_as_its_pipeline(folder: Path, pairs: bool) -> None:
    first, second = texts(200, 30), texts(200)[::-1]
    victim = HuggingFaceClassifier(str(folder), pairs=pairs, device="cpu")
    asked = [*zip(second, first, strict=True)] if pairs else first
    joined = [
        {"text": " ".join(one), "text_pair": " ".join(other)} if pairs else " ".join(other)
        for one, other in zip(second, first, strict=True)
    ]
    expected = by_pipeline(folder, joined)
    for (label, shares), answer in zip(victim.answer(asked), expected, strict=True):
        assert dict(zip(LABELS, shares, strict=True)) == pytest.approx(answer, abs=1e-5)
        assert label == max(answer, key=answer.__getitem__)
    assert len({max(answer, key=answer.__getitem__) for answer in expected}) > 1


def test_labels_may_have_other_names(bert: Path) -> None:
    given = HuggingFaceClassifier(str(bert), labels=["0", "1", "2"], device="cpu")
    own = HuggingFaceClassifier(str(bert), device="cpu")
    asked = texts(20)
    for (label, _), (other, _) in zip(given.answer(asked), own.answer(asked), strict=True):
        assert LABELS[int(label)] == other
    numbered = [Example(row, Sentence(tuple(words)), "1") for row, words in enumerate(asked)]
    named = [Example(row, Sentence(tuple(words)), "neutral") for row, words in enumerate(asked)]
    assert evaluate(given, numbered) == evaluate(own, named)


def interned(victim: HuggingFaceClassifier, rows: list[list[str]]) -> tuple[Any, Any, Any]:
    width = max(map(len, rows))
    words = np.zeros((len(rows), width), np.int32)
    for row, text in zip(words, rows, strict=True):
        row[: len(text)] = victim.intern(text)
    return words, np.zeros_like(words), np.array(list(map(len, rows)), np.int32)


class Shifted:
    """The loss of a text after a common shift of all pieces of one word, by transformers alone."""

    def __init__(
        self, victim: HuggingFaceClassifier, text: list[str], gold: int, loss: str
    ) -> None:
        self.network, self.gold, self.loss = victim._loaded.network, gold, loss
        tokenizer, joined = victim._loaded.tokenizer, " ".join(text)
        self.inputs = tokenizer(joined, return_tensors="pt", return_offsets_mapping=True)
        offsets = self.inputs.pop("offset_mapping")[0].tolist()
        self.embedding = self.network.get_input_embeddings()
        self.embedded = self.embedding(self.inputs["input_ids"]).detach()
        ends = np.cumsum([1 + len(word) for word in text]) - 1
        begins = ends - [len(word) for word in text]
        self.pieces = [
            [at for at, (first, last) in enumerate(offsets) if first < last and begin < last <= end]
            for begin, end in zip(begins, ends, strict=True)
        ]

    @torch.no_grad()
    def __call__(self, word: int, shift: torch.Tensor) -> float:
        moved = self.embedded.clone()
        moved[0, self.pieces[word]] += shift
        hook = self.embedding.register_forward_hook(lambda *_: moved)
        scores = self.network(**self.inputs).logits[0]
        hook.remove()
        if self.loss == "cross_entropy":
            return float(-scores.log_softmax(0)[self.gold])
        others = [float(scores[label]) for label in range(3) if label != self.gold]
        return min(1.0, max(others) - float(scores[self.gold]))


@pytest.mark.parametrize("loss", ["cross_entropy", "margin"])
def test_gradients_are_the_derivatives_of_the_loss(folder: Path, loss: Any) -> None:
    victim = HuggingFaceClassifier(str(folder), device="cpu", precision="float64")
    rows, gold = texts(6), [0, 1, 2, 0, 1, 2]
    asked = (
        TextRows(*interned(victim, rows)),
        gold,
        loss,
        [np.ones(len(row), np.bool_) for row in rows],
    )
    gradients, vectors, norms = victim.gradient(*asked)
    losses, step = victim.followed(*asked), 1e-6
    direction = torch.from_numpy(np.random.default_rng(0).normal(size=vectors.shape[-1]))
    for row, text in enumerate(rows):
        shifted = Shifted(victim, text, gold[row], loss)
        for word in range(len(text)):
            assert losses[row] == pytest.approx(shifted(word, 0 * direction), abs=1e-10)
            rise = shifted(word, step * direction) - shifted(word, -step * direction)
            found = gradients[row, word] @ direction.numpy()
            assert found == pytest.approx(rise / (2 * step), abs=1e-5)
            own = shifted.embedded[0, shifted.pieces[word]].mean(0)
            assert vectors[row, word] == pytest.approx(own.numpy())
            assert (norms[row, word] > 0) == bool(np.abs(gradients[row, word]).any())


def test_a_word_is_embedded_as_inside_a_text(folder: Path) -> None:
    victim = HuggingFaceClassifier(str(folder), device="cpu", precision="float64")
    read = TextRows(*interned(victim, [["a", word] for word in WORDS]))
    every = [np.ones(2, np.bool_)] * len(WORDS)
    _, vectors, _ = victim.gradient(read, [0] * len(WORDS), "cross_entropy", every)
    assert victim.vectors(read.words[:, 1]) == pytest.approx(vectors[:, 1])


@pytest.mark.parametrize(
    "search", [Greedy(), GreedyByImportance(GradientNorm())], ids=["greedy", "gradient"]
)
def test_attacks_do_not_depend_on_packing(folder: Path, search: Any) -> None:
    lexicon = Lexicon({word: [other for other in WORDS if other != word] for word in WORDS})
    outcomes = []
    for live, batch in ((64, 256), (1, 3)):
        victim = HuggingFaceClassifier(
            str(folder), device="cpu", precision="float64", batch_texts=batch
        )
        attack = Attack(lexicon, search, live=live)
        results = sorted(attack.run(answered(folder, 12), victim), key=lambda result: result.id)
        outcomes.append([(result.success, result.words, result.charged) for result in results])
    assert outcomes[0] == outcomes[1]
    assert any(success for success, _, _ in outcomes[0])


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"problem_type": "multi_label_classification"}, None),
        ({"problem_type": "regression", "id2label": {0: "score"}}, None),
        ({"auto_map": {"AutoModel": "evil.Model"}}, "auto_map"),
        ({"id2label": LABELS}, "id2label"),
        ({"id2label": {"no": 0, "yes": 1}}, "id2label"),
        ({"id2label": {0: "no", 2: "yes"}}, "id2label"),
    ],
)
def test_other_models_are_refused(bert: Path, tmp_path: Path, change: Any, key: Any) -> None:
    settings = json.loads((bert / "config.json").read_text()) | change
    (tmp_path / "config.json").write_text(json.dumps(settings))
    with pytest.raises(InputError) as error:
        HuggingFaceClassifier(str(tmp_path))
    assert error.value.path == str(tmp_path / "config.json")
    assert error.value.key == key


def test_outputs_without_names_are_numbered(bert: Path, tmp_path: Path) -> None:
    settings = json.loads((bert / "config.json").read_text()) | {"id2label": None, "num_labels": 3}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    assert HuggingFaceClassifier(str(tmp_path)).labels == ["LABEL_0", "LABEL_1", "LABEL_2"]


@pytest.mark.parametrize("most", [12, 24, 512])
def test_long_texts_are_cut_where_positions_begin_after_the_padding(
    bert: Path, tmp_path: Path, most: int
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(bert, model_max_length=most)
    tokenizer.save_pretrained(tmp_path)
    config = RobertaConfig(
        **{"vocab_size": len(tokenizer), "hidden_size": 16, "num_hidden_layers": 1},
        **{"num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 24},
        pad_token_id=1,
    )
    _save(RobertaForSequenceClassification, config, tmp_path)
    victim = HuggingFaceClassifier(str(tmp_path), device="cpu")
    words = ["cat"] * 40
    cut = words[: min(most, 22) - 2]  # without the special pieces
    (_, whole), (_, short) = victim.answer([words, cut])
    assert whole == pytest.approx(short)


def test_a_wrong_number_of_labels_is_refused(bert: Path) -> None:
    with pytest.raises(InputError) as error:
        HuggingFaceClassifier(str(bert), labels=["no", "yes"])
    assert error.value.key == "victim: labels"
