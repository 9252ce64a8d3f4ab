"""The bench on pointing: either encoder, rates and their ratios by a clock that counts calls."""

import json

import pointing
from sample_runs import sentences, write_sample
from tiny_models import save_bert

LSTM = pointing.LSTMEncoder


def test_rates_over_each_encoder(tmp_path, monkeypatch, capsys):
    write_sample(tmp_path / "x-test.conllu", sentences(6, "test"))
    clock = iter(range(1000))
    monkeypatch.setattr(pointing.time, "perf_counter", lambda: float(next(clock)))
    monkeypatch.setattr(pointing, "LSTMEncoder", lambda: LSTM(hidden=6, layers=1))
    model = str(save_bert(tmp_path / "bert", positions=64, layers=4))
    for encoder in ([], ["--encoder", model]):
        given = ["--folder", str(tmp_path), "--sentences", "5", "--rounds", "1", "--json"]
        monkeypatch.setattr("sys.argv", ["pointing.py", *given, *encoder])
        pointing.main()
        found = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert found["rates"] == {"biaffine": 5.0, "batched": 5.0, "one by one": 5.0}
        assert (found["over_one_by_one"], found["of_biaffine"]) == (1.0, 1.0)
        assert found["encoder"] == (model if encoder else None)
