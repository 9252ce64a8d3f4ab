"""Imported by the process that others are forked from: what a process's first run takes long for.

Such a run imports more, draws the sample and reads docstrings.
"""

import contextlib
import functools
import gc
import os
import tempfile
from pathlib import Path

import docstring_parser
import torch
from tiny_runs import write_config

from robustparse.cli.main import main

torch.set_num_threads(1)
docstring_parser.parse_from_object = functools.cache(docstring_parser.parse_from_object)
with (
    tempfile.TemporaryDirectory() as folder,
    Path(os.devnull).open("w") as nowhere,
    contextlib.redirect_stdout(nowhere),
    contextlib.redirect_stderr(nowhere),
):
    run = write_config(Path(folder) / "run.yaml", max_steps=1)
    main(["fit", "--config", str(run), "--trainer.default_root_dir", folder])
gc.collect()
gc.freeze()  # a search for garbage in a fork would copy all memory that is shared
