"""A tiny bidirectional language model over characters, in the files that published ones come in."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

OPTIONS: dict[str, Any] = {
    "lstm": {
        "cell_clip": 0.9,
        "proj_clip": 0.7,
        "dim": 7,
        "projection_dim": 5,
        "n_layers": 2,
        "use_skip_connections": True,
    },
    "char_cnn": {
        "n_characters": 261,
        "max_characters_per_token": 12,
        "embedding": {"dim": 4},
        "filters": [[1, 3], [2, 4], [3, 2]],
        "n_highway": 2,
        "activation": "relu",
    },
}


def options_with(**changes: object) -> dict[str, Any]:
    """The options with other values, named by `section__key`."""
    options = copy.deepcopy(OPTIONS)
    for name, value in changes.items():
        section, _, key = name.partition("__")
        options[section][key] = value
    return options


def shapes(options: dict[str, Any] = OPTIONS) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights in a published file."""
    cnn, lstm = options["char_cnn"], options["lstm"]
    dim, size = cnn["embedding"]["dim"], sum(number for _, number in cnn["filters"])
    cells, projection = lstm["dim"], lstm["projection_dim"]
    found: dict[str, tuple[int, ...]] = {"char_embed": (261, dim)}
    for k, (width, number) in enumerate(cnn["filters"]):
        found |= {f"CNN/W_cnn_{k}": (1, width, dim, number), f"CNN/b_cnn_{k}": (number,)}
    for k in range(cnn["n_highway"]):
        for part in ("carry", "transform"):
            found |= {f"CNN_high_{k}/W_{part}": (size, size), f"CNN_high_{k}/b_{part}": (size,)}
    found |= {"CNN_proj/W_proj": (size, projection), "CNN_proj/b_proj": (projection,)}
    for direction in range(2):
        for k in range(lstm["n_layers"]):
            cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{k}/LSTMCell"
            found[f"{cell}/W_0"] = (2 * projection, 4 * cells)
            found |= {f"{cell}/B": (4 * cells,), f"{cell}/W_P_0": (cells, projection)}
    return found


def random_weights(options: dict[str, Any] = OPTIONS) -> dict[str, NDArray[np.float32]]:
    """Weights by name, the same for the same options."""
    rng = np.random.default_rng(0)
    return {
        name: (0.7 * rng.standard_normal(shape)).astype(np.float32)
        for name, shape in shapes(options).items()
    }


def save_elmo(
    folder: Path,
    options: dict[str, Any] = OPTIONS,
    weights: dict[str, Any] | None = None,
) -> dict[str, str]:
    """Write options and weights, random ones of these options if none are given; their paths.

    Skips the test where h5py is missing.
    """
    h5py = pytest.importorskip("h5py", reason="needs h5py: pip install robustparse[elmo]")
    folder.mkdir(exist_ok=True)
    paths = {"options": str(folder / "options.json"), "weights": str(folder / "weights.hdf5")}
    Path(paths["options"]).write_text(json.dumps(options))
    with h5py.File(paths["weights"], "w") as file:
        for name, values in (random_weights(options) if weights is None else weights).items():
            file[name] = values
    return paths
