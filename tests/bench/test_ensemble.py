"""The bench of what an ensemble costs: its victims, its clock, its last line."""

import json

import pytest

import ensemble
from sample_runs import save_checkpoint, sentences, trained_parser, write_sample


def test_an_ensemble_costs_what_its_members_do_together(tmp_path, monkeypatch, capsys):
    """By a clock that counts the forward passes of models."""
    passes = [0.0]
    whole = ensemble.Model.forward

    def counted(*arguments, **options):
        passes[0] += 1.0
        return whole(*arguments, **options)

    monkeypatch.setattr(ensemble.Model, "forward", counted)
    monkeypatch.setattr(ensemble.time, "process_time", lambda: passes[0])
    paths = [str(save_checkpoint(trained_parser(), tmp_path / f"{at}.ckpt")) for at in range(3)]
    write_sample(tmp_path / "x-test.conllu", sentences(12, "test"))
    given = ["--checkpoint", *paths, "--folder", str(tmp_path), "--sentences", "9", "--rounds", "1"]
    monkeypatch.setattr("sys.argv", ["ensemble.py", *given, "--json"])
    ensemble.main()
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found["sentences"], found["members"], found["cost_ratio"]) == (9, 3, 3.0)
    assert len(set(found["queries"].values())) == 1  # equal models take equal attacks
    monkeypatch.setattr("sys.argv", ["ensemble.py", "--checkpoint", paths[0], *given[4:]])
    with pytest.raises(SystemExit):
        ensemble.main()
    assert "no ensemble" in capsys.readouterr().err
