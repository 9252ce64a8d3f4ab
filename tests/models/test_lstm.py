"""The unpacked BiLSTM against torch's own over packed sequences."""

import os
import subprocess
import sys

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from robustparse.models.encoders import lstm
from robustparse.models.encoders.lstm import BiLSTM, reversed_rows

LENGTHS = torch.tensor([4, 1, 7, 7, 2])


def pair(layers: int) -> tuple[BiLSTM, nn.LSTM]:
    """Ours and torch's, in float64, with the same random weights."""
    ours = BiLSTM(3, 5, layers, dropout=0.5).double().eval()
    theirs = nn.LSTM(3, 5, layers, batch_first=True, bidirectional=True).double()
    generator = torch.Generator().manual_seed(layers)
    with torch.no_grad():
        for layer in range(layers):
            for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                for part, end in ((ours.forwards, ""), (ours.backwards, "_reverse")):
                    mine = getattr(part[layer], f"{kind}_l0")
                    mine.normal_(generator=generator)
                    getattr(theirs, f"{kind}_l{layer}{end}").copy_(mine)
    return ours, theirs


def inputs() -> Tensor:
    return torch.randn(5, 7, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def packed(module: nn.LSTM, sequences: Tensor) -> tuple[Tensor, Tensor]:
    answer, (last, _) = module(
        pack_padded_sequence(sequences, LENGTHS, batch_first=True, enforce_sorted=False)
    )
    return pad_packed_sequence(answer, batch_first=True)[0], last


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_states_and_gradients_equal_packed_torch(layers):
    ours, theirs = pair(layers)
    mask = (torch.arange(7) < LENGTHS[:, None]).unsqueeze(-1)
    weights = inputs().sum(-1, keepdim=True) * torch.arange(1.0, 11.0) * mask
    gradients = []
    states = []
    for module in (ours, theirs):
        given = inputs().requires_grad_()
        answer = ours(given, LENGTHS) if module is ours else packed(theirs, given)[0]
        (answer * weights).sum().backward()
        states.append(answer * mask)
        gradients.append(given.grad)
    torch.testing.assert_close(*states, rtol=0, atol=1e-12)
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-12)
    for layer in range(layers):
        torch.testing.assert_close(
            ours.backwards[layer].weight_hh_l0.grad,
            getattr(theirs, f"weight_hh_l{layer}_reverse").grad,
            rtol=0,
            atol=1e-12,
        )


def test_last_states_equal_packed_torch():
    ours, theirs = pair(1)
    last = packed(theirs, inputs())[1]
    expected = torch.cat([last[0], last[1]], dim=-1)
    torch.testing.assert_close(ours.last_states(inputs(), LENGTHS), expected, rtol=0, atol=1e-12)


def test_padding_is_irrelevant():
    ours, _ = pair(2)
    plain = ours(inputs(), LENGTHS)
    noisy = inputs()
    mask = torch.arange(7) < LENGTHS[:, None]
    noisy[~mask] = 1e6
    assert torch.equal(ours(noisy, LENGTHS)[mask], plain[mask])
    wider = ours(nn.functional.pad(noisy, (0, 0, 0, 4), value=-7.0), LENGTHS)
    torch.testing.assert_close(wider[:, :7][mask], plain[mask], rtol=0, atol=1e-12)


def test_reversal_stays_within_each_length():
    assert reversed_rows(torch.tensor([3, 1, 4, 0]), 4).tolist() == [
        *(2, 1, 0, 3),
        *(4, 5, 6, 7),
        *(11, 10, 9, 8),
        *(12, 13, 14, 15),
    ]


def test_dropout_is_between_layers_and_only_in_training():
    ours, _ = pair(2)
    single, _ = pair(1)
    plain = ours(inputs(), LENGTHS)
    assert torch.equal(ours(inputs(), LENGTHS), plain)
    assert not torch.equal(ours.train()(inputs(), LENGTHS), plain)
    assert torch.equal(single.train()(inputs(), LENGTHS), single.eval()(inputs(), LENGTHS))


def test_weights_start_orthogonal_and_biases_at_zero():
    module = BiLSTM(4, 3, 2)
    for name, parameter in module.named_parameters():
        if "bias" in name:
            assert not parameter.any()
        else:
            torch.testing.assert_close(
                parameter.T @ parameter, torch.eye(parameter.shape[1]), rtol=0, atol=1e-5
            )


@pytest.mark.parametrize(
    ("mixed", "learning", "sentences", "read"),
    [
        (True, True, 661, 664),
        (True, True, 664, 664),
        (True, True, 256, 256),
        (True, False, 661, 661),
        (False, True, 661, 661),
    ],
)
def test_batches_are_filled_up_only_in_bfloat16(mixed, learning, sentences, read):
    if not lstm.has_bfloat16_lstm():
        read = sentences
    torch.manual_seed(0)
    encoder, found = BiLSTM(3, 5), []
    for one in (*encoder.forwards, *encoder.backwards):
        one.register_forward_hook(lambda _, given, __: found.append(len(given[0])))
    with torch.autocast("cpu", torch.bfloat16, enabled=mixed), torch.set_grad_enabled(learning):
        states = encoder(torch.randn(sentences, 2, 3), torch.full((sentences,), 2))
    assert found == [read, read]
    assert states.shape == (sentences, 2, 10)


# In a process that keeps what it frees: else memory comes back as zeros.
KEEPS = {"MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_MMAP_MAX_": "0"}
REUSED = """
import torch
from robustparse.models.encoders.lstm import BiLSTM

torch.manual_seed(0)
torch.set_num_threads(2)
encoder, lengths = BiLSTM(400, 400), torch.full((661,), 2)
given, wanted = torch.randn(661, 2, 400, requires_grad=True), torch.randn(661, 2, 800)
gradients = []


def forget():
    [torch.full((10**power,), torch.nan) for power in (3, 4, 5, 6, 7) for _ in range(2)]


for mixed in (False, True, True):  # whether it happens hangs on where memory is
    encoder.zero_grad()
    forget()
    with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
        states = encoder(given, lengths)
    assert states.shape == (661, 2, 800)
    forget()
    states.float().backward(wanted)
    gradients.append([one.grad.clone() for one in encoder.parameters()])
for found in gradients[1:]:
    for exact, rounded in zip(gradients[0], found, strict=True):
        torch.testing.assert_close(rounded, exact, rtol=0.0, atol=0.03 * float(exact.abs().max()))
"""


@pytest.mark.skipif(not lstm.has_bfloat16_lstm(), reason="no LSTM in bfloat16 here")
def test_gradients_in_bfloat16_are_not_what_stood_in_memory():
    """Of a prime number of sentences, on two threads."""
    done = subprocess.run(
        [sys.executable, "-c", REUSED],
        env={**os.environ, **KEEPS},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_a_processor_without_bfloat16_computes_in_float32(monkeypatch):
    monkeypatch.setattr(lstm, "has_bfloat16_lstm", lambda: False)
    layer = nn.LSTM(3, 4, batch_first=True)
    words = inputs().to(torch.bfloat16)
    start = (torch.ones(5, 4), torch.zeros(5, 4))
    with torch.autocast("cpu", torch.bfloat16):
        states = lstm.lstm_states(layer, words, start)
        states.sum().backward()
    assert torch.equal(states, layer(words.float(), (start[0][None], start[1][None]))[0])
    assert all(parameter.grad.isfinite().all() for parameter in layer.parameters())
