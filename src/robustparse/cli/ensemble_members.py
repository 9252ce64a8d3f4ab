"""The members of an ensemble: which options of ``fit`` train them, and whether that is done.

A file next to the checkpoints of a member records its settings and the digests of its files, so
that a finished member is not trained again, and no other model takes its place.
"""

import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout, suppress
from copy import deepcopy
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

import yaml

from robustparse.api.inputs import digest
from robustparse.cli.main import run
from robustparse.data.datamodule import SAMPLE, DataModule
from robustparse.errors import InputError, ProcessDiedError, say
from robustparse.evaluation.claim import differences
from robustparse.files.json_text import read_json
from robustparse.files.paths import each_path
from robustparse.files.writing import write_json
from robustparse.models.base import Model
from robustparse.models.victim import ModelVictim
from robustparse.options.recipe import make_object
from robustparse.options.recipe_digests import recipe_digests
from robustparse.options.tokens import each_option, plain_key
from robustparse.tracking.last_checkpoint import FILE as LAST
from robustparse.tracking.last_checkpoint import SIGNALS

RECORD = "member.json"
# Settings of the Trainer that may change when a run resumes.
_MAY_CHANGE = ("accelerator", "devices", "num_nodes", "strategy", "enable_progress_bar", "logger")
_REMEDY = "choose another --out or delete the folder"


@dataclass(frozen=True)
class Member:
    """A model of the ensemble.

    Args:
        folder: of its run, whose name is that of the model.
        group: the name of its configuration; members of a group differ in the seed only.
        options: of ``fit``.
        settings: all settings of the run.
        digests: SHA-256 of the files that it is trained from.
    """

    folder: Path
    group: str
    options: list[str]
    settings: dict[str, Any]
    digests: dict[str, str]

    def is_finished(self) -> bool:
        """Tell whether it was trained to the end.

        Raises:
            InputError: the folder holds a run with other settings or files.
        """
        path = self.folder / RECORD
        if not (self.folder / LAST).exists():
            return False
        if not path.exists():
            problem = f"holds a run but no {RECORD}, which describes it"
            raise InputError(problem, path=self.folder, remedy=_REMEDY)
        stored = read_json(path, dict, _REMEDY)
        finished = stored.pop("finished", None)
        if difference := next(differences(stored, self._record()), None):
            problem = f"holds another model ({difference})"
            raise InputError(problem, path=self.folder, remedy=_REMEDY)
        return finished is True

    def train(self) -> None:
        """Train the model, or resume its training."""
        write_json(self.folder / RECORD, {**self._record(), "finished": False})
        where = ["--trainer.default_root_dir", str(self.folder), "--ckpt_path", "last"]
        fit([*self.options, *where])
        write_json(self.folder / RECORD, {**self._record(), "finished": True})

    def _record(self) -> dict[str, Any]:
        return {"settings": self.settings, "sha256": self.digests}


def make_members(
    folder: Path, options: Sequence[str], seeds: Sequence[int], embeddings: Sequence[str]
) -> list[Member]:
    """Return the members: one for each configuration and each seed.

    Args:
        folder: the folder of all runs.
        options: of ``fit``, for all members.
        seeds: of models and batches; none keeps those of the configurations.
        embeddings: configurations that are added, one at a time.

    Raises:
        InputError: an option is not allowed here, or the members cannot answer together.
    """
    set_here = {"trainer.default_root_dir": "--out", "ckpt_path": "--out"}
    set_here |= {"model.seed": "--seeds", "data.seed": "--seeds"} if seeds else {}
    for name, _, _ in each_option(options):
        if by := set_here.get(plain_key(name)):
            raise InputError(f"is set by {by}", key=name, remedy="leave it out")
    members = []
    for embedding in embeddings or (None,):
        group, added = "", [*options]
        if embedding is not None:
            group = Path(embedding).stem
            added += ["--config", embedding]
        settings = _settings(added)
        digests = _digests(settings)
        # Another seed of the sample's data would draw other sentences.
        of_sample = settings["data"]["init_args"].get("folder") == SAMPLE
        seeded = ("model",) if of_sample else ("model", "data")
        for seed in seeds:
            with_seed, of_fit = deepcopy(settings), [*added]
            for part in seeded:
                with_seed[part]["init_args"]["seed"] = seed
                of_fit += [f"--{part}.seed", str(seed)]
            name = "_".join(filter(None, [group, f"seed_{seed}"]))
            members.append(Member(folder / name, group, of_fit, with_seed, digests))
        if not seeds:
            members.append(Member(folder / group, group, added, settings, digests))
    _check(members)
    return members


def _check(members: Sequence[Member]) -> None:
    """Check that there are several members, which can answer together."""
    names = [each.folder.name for each in members]
    classes = {each.settings["model"]["class_path"] for each in members}
    if len(members) < 2:
        problem = "an ensemble needs at least two models"
    elif len({*names}) < len(names):
        problem = f"two models have the same name, of {', '.join(names)}"
    elif len(classes) > 1:
        problem = f"the models are of different classes, {', '.join(sorted(classes))}"
    else:
        return
    remedy = "name several seeds, or several configurations of one class of models"
    raise InputError(problem, key="--seeds, --embeddings", remedy=remedy)


def check_models(members: Sequence[Member]) -> None:
    """Make a model of each configuration, so that mistakes are found before any is trained.

    Raises:
        InputError: a model cannot be made, such as for a missing file, or cannot answer together
            with another one.
    """
    models = []
    for member in {each.group: each for each in members}.values():
        data: DataModule = make_object(DataModule, member.settings["data"])
        arguments = {**member.settings["model"]["init_args"], "vocabulary": data.vocabulary}
        models.append(make_object(Model, {**member.settings["model"], "init_args": arguments}))
    ModelVictim(models)


def _settings(options: Sequence[str]) -> dict[str, Any]:
    """Return all settings of a run, as ``fit --print_config`` prints them."""
    with redirect_stdout(StringIO()) as printed, suppress(SystemExit):
        run("fit", [*options, "--print_config"])
    settings: dict[str, Any] = yaml.safe_load(printed.getvalue())
    for part in ("model", "data"):
        if not settings.get(part):
            raise InputError(f"no {part} is set", key="--config", remedy="name an experiment")
    for name in ("default_root_dir", *_MAY_CHANGE):
        del settings["trainer"][name]
    return settings


def _digests(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the SHA-256 of the files that a member is trained from."""
    module: DataModule = make_object(DataModule, settings["data"])
    paths = [*map(Path, module.augmentation.files or ())]
    paths += filter(None, [module.path("train")])
    with suppress(InputError):  # some corpora have no development set
        paths += filter(None, [module.path("dev")])
    objects = [settings["model"], settings["trainer"]["callbacks"]]
    files = map(str, each_path(paths))
    return {file: digest(file) for file in files} | recipe_digests(objects)


def fit(options: Sequence[str]) -> None:
    """Run ``fit`` in a process of its own, whose Trainer may start others; pass on stop signals.

    Raises:
        SystemExit: it failed, and has printed why.
        ProcessDiedError: it was killed.
    """
    # In a session of its own, it gets each signal once: from here, and not from the terminal, too.
    program = [sys.executable, "-m", "robustparse", "fit", *options]
    with subprocess.Popen(program, start_new_session=True) as process:

        def pass_on(number: int, _: FrameType | None) -> None:
            # A closed terminal stops training as a request does: after a last checkpoint.
            process.send_signal(signal.SIGTERM if number == signal.SIGHUP else number)

        earlier = {
            number: signal.signal(number, pass_on)
            for number in (*SIGNALS, signal.SIGINT, signal.SIGHUP)
        }
        try:
            status = process.wait()
        finally:
            for number, handler in earlier.items():
                signal.signal(number, handler)
    if status < 0:
        died = f"training was ended by {signal.Signals(-status).name}"
        raise ProcessDiedError(f"{died}; the same command resumes")
    if status > 128:
        say("the same `ensemble` command resumes")
    if status > 0:
        sys.exit(status)
