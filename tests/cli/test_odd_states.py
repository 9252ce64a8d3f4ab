"""A checkpoint whose state of training is damaged: one message that names it, no traceback."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_runs import fit, write_config

from robustparse.cli.main import main

STATES: dict[str, Callable[[dict[str, Any]], object]] = {
    "loops": lambda state: state.update(loops="text"),
    "loop": lambda state: state["loops"].update(fit_loop={"state_dict": 3}),
    "no optimizer": lambda state: state.update(optimizer_states=[]),
    "optimizer": lambda state: state.update(optimizer_states=[{"state": 3}]),
    "schedule": lambda state: state.update(lr_schedulers=[3]),
    "callbacks": lambda state: state.update(callbacks=[1]),
    "callback": lambda state: state["callbacks"].update({next(iter(state["callbacks"])): 3}),
    "version": lambda state: state.update({"pytorch-lightning_version": 3}),
    "step": lambda state: state.update(global_step="many"),
    "weights": lambda state: state.update(state_dict={1: torch.zeros(2)}),
}


@pytest.mark.slow
def test_no_state_ends_in_a_traceback(finished, tmp_path, capsys):
    config = write_config(tmp_path / "run.yaml", max_steps=45, limit_val_batches=0)
    for name, change in STATES.items():
        state = torch.load(finished[1] / "last.ckpt", weights_only=True)
        change(state)
        path: Path = tmp_path / f"{name}.ckpt"
        torch.save(state, path)
        with pytest.raises(SystemExit) as end:
            main([*fit(config, tmp_path / name), "--ckpt_path", str(path)])
        *_, message = capsys.readouterr().err.splitlines()
        assert (end.value.code, path.name in message) == (2, True), (name, message)
