"""Networks in which padding reaches the words, or which have other habits than BERT."""

from pathlib import Path

import pytest
import torch
from transformers import (
    BertTokenizer,
    ConvBertConfig,
    ConvBertModel,
    FNetConfig,
    FNetModel,
    IBertConfig,
    IBertModel,
    LiltConfig,
    LiltModel,
    MobileBertConfig,
    MobileBertModel,
    NystromformerConfig,
    NystromformerModel,
    PreTrainedModel,
    ReformerConfig,
    ReformerModel,
    SqueezeBertConfig,
    SqueezeBertModel,
)

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models.checkpoint import instantiate, specification
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.transformer import TransformerEncoder
from tiny_models import PIECES, TEXTS, examples, save_bert

SIZES = {
    "vocab_size": len(PIECES),
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 14,
    "initializer_range": 0.2,
}
HEADS = {"num_attention_heads": 2}
MIXING = {
    "ConvBert": lambda: ConvBertModel(ConvBertConfig(**SIZES, **HEADS, embedding_size=16)),
    "FNet": lambda: FNetModel(FNetConfig(**SIZES)),
    "MobileBert": lambda: MobileBertModel(
        MobileBertConfig(**SIZES, **HEADS, embedding_size=16, intra_bottleneck_size=16)
    ),
    "Nystromformer": lambda: NystromformerModel(
        NystromformerConfig(**SIZES, **HEADS, num_landmarks=14, segment_means_seq_len=14)
    ),
}


def save(folder: Path, network: PreTrainedModel) -> Path:
    network.save_pretrained(folder)
    pieces = {piece: id_ for id_, piece in enumerate(PIECES)}
    BertTokenizer(vocab=pieces).save_pretrained(folder)
    return folder


def parser_of(folder: Path) -> BiaffineParser:
    """Untrained, in float64, every weight of its own layers random; 13 pieces take two windows."""
    encoder = TransformerEncoder(str(folder), mix=1, long_sentences="split")
    vocabulary = Vocabulary.from_examples(examples())
    made = BiaffineParser(encoder, arc_dim=7, label_dim=4, vocabulary=vocabulary).double()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if not name.startswith("encoder."):
                noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
                parameter.add_(0.5 * noise)
    return made.eval()


@pytest.mark.parametrize("name", MIXING)
def test_a_parse_does_not_depend_on_batch_mates_where_padding_reaches_words(name, tmp_path):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        parser = parser_of(save(tmp_path, MIXING[name]()))
    data = parser.encode(examples())
    batch = data.batch(range(len(TEXTS)), 1.0)
    assert batch.lengths.unique().numel() > 1
    alone = [data.batch([index], 1.0) for index in range(len(TEXTS))]
    assert parser.predict_step(batch, 0) == [parser.predict_step(one, 0)[0] for one in alone]
    # What is taken apart by length and put together again keeps its gradient.
    together, sums = gradient(parser, batch)
    for row, one in enumerate(alone):
        expected, loss = gradient(parser, one)
        torch.testing.assert_close(sums[row], loss[0])
        found = together[row, : expected.shape[1]]
        torch.testing.assert_close(found, expected[0], rtol=1e-6, atol=1e-9)


def gradient(parser: BiaffineParser, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Of the losses towards an delta, and the losses."""
    delta = parser.zero_delta(batch).requires_grad_()
    sums = parser.loss(parser(batch, delta), batch)
    return torch.autograd.grad(sums.sum(), delta)[0], sums.detach()


def test_a_checkpoint_knows_that_lengths_are_read_apart(tmp_path):
    parser = parser_of(save(tmp_path, MIXING["ConvBert"]()))
    again = instantiate(specification(parser), vocabulary=parser.vocabulary).double()
    again.load_state_dict(parser.state_dict())
    assert again.encoder.lengths_apart
    words = [example.sentence for example in examples()]
    assert again.eval().predict(words) == parser.predict(words)


def test_lengths_are_read_together_where_attention_alone_joins_pieces(tmp_path):
    assert not parser_of(save_bert(tmp_path)).encoder.lengths_apart


def test_a_network_that_always_asks_for_its_pooler_is_read(tmp_path):
    groups = {f"{part}_groups": 1 for part in ("q", "k", "v", "post_attention", "output")}
    config = SqueezeBertConfig(**SIZES, **HEADS, **groups, intermediate_groups=1, embedding_size=16)
    parser = parser_of(save(tmp_path, SqueezeBertModel(config)))
    assert len(parser.predict([["dog", "saw", "cats"]])[0].heads) == 3
    assert not any("pooler" in name for name, _ in parser.named_parameters())


def test_networks_whose_vectors_or_embeddings_are_not_as_wide_as_they_say_are_refused(tmp_path):
    attention = {"attn_layers": ["local"] * 2, "attention_head_size": 8, "feed_forward_size": 16}
    wide = ReformerConfig(**SIZES, **HEADS, **attention, axial_pos_embds=False, is_decoder=False)
    save(tmp_path / "wide", ReformerModel(wide))
    with pytest.raises(InputError, match=r"wide: .*vectors have 32 numbers, its hidden_size is 16"):
        parser_of(tmp_path / "wide")
    save(tmp_path / "pairs", IBertModel(IBertConfig(**SIZES, **HEADS)))  # vectors and their scales
    with pytest.raises(InputError, match=r"pretrained encoder .*pairs: it cannot read pieces"):
        parser_of(tmp_path / "pairs")


def test_a_network_that_reads_more_than_pieces_is_refused(tmp_path):
    config = LiltConfig(**SIZES, **HEADS, channel_shrink_ratio=3)  # no divisor of its sizes
    save(tmp_path, LiltModel(config))
    with pytest.raises(InputError, match=r"pretrained encoder .*: it cannot read pieces that are"):
        parser_of(tmp_path)


def test_a_word_has_no_more_pieces_than_a_window(tmp_path):
    parser = parser_of(save_bert(tmp_path, positions=6))  # windows of 4 pieces
    long = "dog" + "s" * 40
    for words in ([long], ["cats", long, "the"], [long, long]):
        (tree,) = parser.predict([words])
        assert len(tree.heads) == len(words)
    rows = parser.encoder.intern(["thesssss", "dog"])
    assert parser.encoder.table.count(rows[:1]) <= 4
