"""Every supported type of pretrained network, tiny and random; and what becomes of the others."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModel, BertTokenizer

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models.checkpoint import instantiate, specification
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.transformer import SUPPORTED, TransformerEncoder
from robustparse.types import Sentence
from tiny_models import PIECES, TEXTS, examples, save_bert

POSITIONS = 14  # 13 pieces take two windows
SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "embedding_size": 8,
}
RELATIVE = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}
# Settings of published models of a type that are not the default, or are named otherwise.
OWN: dict[str, dict[str, Any]] = {
    "deberta": RELATIVE,
    "deberta-v2": {
        **RELATIVE,
        **{"position_biased_input": False, "share_att_key": True, "position_buckets": 8},
        **{"norm_rel_ebd": "layer_norm", "conv_kernel_size": 3, "conv_act": "gelu"},
    },
    "distilbert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 16},
    "modernbert": {f"{name}_token_id": 2 for name in ("bos", "eos", "cls", "sep")},
}
COUNT_FROM_PADDING = ("camembert", "data2vec-text", "mpnet", "roberta", "xlm-roberta")
ANY_LENGTH = ("deberta-v2", "modernbert")


def save(folder: Path, model_type: str) -> Path:
    """A random network and BERT's tokenizer."""
    sizes = {} if model_type == "distilbert" else SIZES
    config = AutoConfig.for_model(
        model_type,
        vocab_size=len(PIECES),
        max_position_embeddings=POSITIONS,
        initializer_range=0.2,
        pad_token_id=1,
        **sizes,
        **OWN.get(model_type, {}),
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        AutoModel.from_config(config).save_pretrained(folder)
    pieces = {piece: id_ for id_, piece in enumerate(PIECES)}
    BertTokenizer(vocab=pieces).save_pretrained(folder)
    return folder


def parser_of(folder: Path, **settings: Any) -> BiaffineParser:
    """Untrained, in float64, every weight of its own layers random."""
    encoder = TransformerEncoder(str(folder), long_sentences="split", **{"mix": 2, **settings})
    vocabulary = Vocabulary.from_examples(examples())
    made = BiaffineParser(encoder, arc_dim=7, label_dim=4, vocabulary=vocabulary).double()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if not name.startswith("encoder."):
                noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
                parameter.add_(0.5 * noise)
    return made.eval()


@pytest.fixture(scope="module", params=SUPPORTED)
def parser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    return parser_of(save(tmp_path_factory.mktemp(request.param), request.param))


def gradient(parser: BiaffineParser, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Of the losses towards a delta, and the losses."""
    delta = parser.zero_delta(batch).requires_grad_()
    sums = parser.loss(parser(batch, delta), batch)
    return torch.autograd.grad(sums.sum(), delta)[0], sums.detach()


def test_a_parse_never_depends_on_its_batch_mates_and_deltas_stand_on_words(parser):
    data = parser.encode(examples())
    batch = data.batch(range(len(TEXTS)), 1.0)
    together, sums = gradient(parser, batch)
    felt = (together * parser.delta_mask(batch)).abs().sum(-1) > 0
    assert torch.equal(felt, parser.delta_mask(batch)[..., 0].bool())
    alone = [data.batch([index], 1.0) for index in range(len(TEXTS))]
    assert parser.predict_step(batch, 0) == [parser.predict_step(one, 0)[0] for one in alone]
    for row, one in enumerate(alone):
        expected, loss = gradient(parser, one)
        torch.testing.assert_close(sums[row], loss[0], rtol=0, atol=1e-10)
        found = together[row, : expected.shape[1]]
        torch.testing.assert_close(found, expected[0], rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("mix", [1, 2])
def test_every_trained_parameter_gets_a_gradient(parser, mix):
    trained = parser_of(Path(parser.encoder.model), mix=mix).train()
    batch = trained.encode(examples()).batch(range(len(TEXTS)), 1.0)
    trained.loss(trained(batch), batch).sum().backward()
    for name, parameter in trained.named_parameters():
        assert (parameter.grad is not None) == parameter.requires_grad, name
    frozen = {name for name, one in trained.named_parameters() if not one.requires_grad}
    assert frozen == ({"encoder.mix_weights"} if mix == 1 else set())


def test_the_limit_is_what_the_network_can_read(parser):
    encoder = parser.encoder
    model_type = encoder.network.config.model_type
    positions = POSITIONS - (2 if model_type.startswith(COUNT_FROM_PADDING) else 0)
    assert encoder.limit == positions - 2
    longest = Sentence(("dog",) * encoder.limit)
    strict = TransformerEncoder(encoder.model, stored=encoder.stored)
    strict.limit, strict.table = encoder.limit, encoder.table
    strict.check(longest)
    with pytest.raises(InputError, match=f"over the encoder's limit of {encoder.limit}") as caught:
        strict.check(Sentence((*longest.words, "dog")))
    assert caught.value.remedy.startswith("set its long_sentences to split or truncate")
    assert len(parser.predict([longest])[0].heads) == encoder.limit

    def read(units: int) -> None:
        with torch.no_grad():
            pieces = torch.zeros(1, units, encoder.dim, dtype=torch.float64)
            encoder.network(inputs_embeds=pieces)

    read(positions)
    if model_type not in ANY_LENGTH:  # no table of positions to pass the end of
        with pytest.raises((IndexError, RuntimeError)):
            read(positions + 1)


def test_a_checkpoint_makes_the_same_parser(parser):
    again = instantiate(specification(parser), vocabulary=parser.vocabulary).double()
    again.load_state_dict(parser.state_dict())
    sentences = [example.sentence for example in examples()]
    assert again.eval().predict(sentences) == parser.predict(sentences)


def test_another_type_is_refused_unless_the_user_takes_the_risk(tmp_path):
    folder = save(tmp_path, "convbert")
    with pytest.raises(InputError, match="its model_type is 'convbert'") as caught:
        parser_of(folder)
    assert caught.value.key == f"pretrained encoder {folder}"
    assert caught.value.expected == f"one of {', '.join(SUPPORTED)}"
    assert "untested: true" in caught.value.remedy
    parser = parser_of(folder, untested=True)
    assert len(parser.predict([["dog", "saw", "cats"]])[0].heads) == 3
    held = specification(parser)
    assert len(instantiate(held, vocabulary=parser.vocabulary).predict([["dog"]])[0].heads) == 1
    held["init_args"]["encoder"]["init_args"]["untested"] = False
    with pytest.raises(InputError, match="its model_type is 'convbert'"):
        instantiate(held, vocabulary=parser.vocabulary)


def test_a_folder_that_names_no_type_is_refused(tmp_path):
    config = save_bert(tmp_path) / "config.json"
    config.write_text(json.dumps({"hidden_size": 16}))
    with pytest.raises(InputError, match="its model_type is None"):
        parser_of(tmp_path)


def test_a_word_has_no_more_pieces_than_a_window(tmp_path):
    parser = parser_of(save_bert(tmp_path, positions=6))  # windows of 4 pieces
    long = "dog" + "s" * 40
    for words in ([long], ["cats", long, "the"], [long, long]):
        (tree,) = parser.predict([words])
        assert len(tree.heads) == len(words)
    rows = parser.encoder.intern(["thesssss", "dog"])
    assert parser.encoder.table.count(rows[:1]) <= 4
