"""A tiny language model behind `transformers serve` answers as the model itself."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import robustparse as rp
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.search.beam import Greedy
from robustparse.types import Example, Sentence
from robustparse.victims import Endpoint, FunctionVictim
from robustparse.victims.answers import UNREADABLE
from robustparse.victims.label_answers import label_in
from tiny_language_models import save_gpt2

pytestmark = pytest.mark.skipif(not find_spec("openai"), reason="needs openai")

LABELS = ["negative", "positive"]
WORDS = ["a", "good", "bad", "film", "dull", "fine", "fun", "slow"]
PROMPT = "{{ labels | join(' ') }} {{ text }}"
TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
TOKENS = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model, and the prompt."""
    folder = tmp_path_factory.mktemp("served")
    torch.manual_seed(52)  # it gives both labels, and words that are none
    vocabulary = {word: number for number, word in enumerate(["[UNK]", *LABELS, *WORDS])}
    save_gpt2(folder / "model", vocabulary)
    tokenizer = AutoTokenizer.from_pretrained(folder / "model")
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder / "model")
    (folder / "prompt.j2").write_text(PROMPT)
    return folder


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    """The address of its server."""
    for library in ("fastapi", "uvicorn", "accelerate"):
        pytest.importorskip(library)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    program = str(Path(sys.executable).with_name("transformers"))
    options = ["--host", "127.0.0.1", "--port", port, "--device", "cpu"]
    with (
        open(folder / "log", "w") as log,
        subprocess.Popen(
            [program, "serve", str(folder / "model"), *options],
            stdout=log,
            stderr=log,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
        ) as server,
    ):
        try:
            wait_for(int(port), server, folder / "log")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.kill()


def wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(1200):
        assert server.poll() is None, log.read_text()
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(log.read_text())


def alone(folder: Path) -> FunctionVictim:
    """The model without a server: its most probable next words."""
    model = AutoModelForCausalLM.from_pretrained(folder / "model").eval()
    tokenizer = AutoTokenizer.from_pretrained(folder / "model")

    def answer(texts: list[list[str]]) -> list[str]:
        labels = []
        for words in texts:
            ids = tokenizer(" ".join([*LABELS, *words]), return_tensors="pt")["input_ids"]
            for _ in range(TOKENS):
                with torch.no_grad():
                    best = model(ids).logits[0, -1].argmax()
                if best == model.config.eos_token_id:
                    break
                ids = torch.cat([ids, best[None, None]], dim=1)
            said = tokenizer.decode(ids[0, len(LABELS) + len(words) :])
            labels.append(label_in(said, {each: each for each in LABELS}) or UNREADABLE)
        return labels

    return FunctionVictim(answer, "classification", labels=[*LABELS, UNREADABLE])


@pytest.mark.slow
def test_it_falls_as_the_model_itself(folder: Path, url: str) -> None:
    victim = Endpoint(
        url,
        str(folder / "model"),
        LABELS,
        prompt=str(folder / "prompt.j2"),
        answer_tokens=TOKENS,
        cache=str(folder / "answers.sqlite"),
        max_concurrent=4,
    )
    assert victim.scores == "none"
    words = [(a, b, c) for a in WORDS[:3] for b in WORDS[3:5] for c in WORDS[5:]]
    examples = [Example(n, Sentence(text), LABELS[n % 2]) for n, text in enumerate(words)]
    attack = Attack(Lexicon({"film": ["fun", "bad"], "fine": ["good", "slow"]}), Greedy())
    found, expected = (rp.attack(each, examples, attack).lines for each in (victim, alone(folder)))
    named = {line["clean"]["label"] for line in expected}
    assert named == {*LABELS, UNREADABLE}
    for line, other in zip(found, expected, strict=True):
        for key in ("adversarial_tokens", "success", "skipped", "queries"):
            assert line[key] == other[key]
        for when in ("clean", "attacked"):
            assert line[when]["label"] == other[when]["label"]
