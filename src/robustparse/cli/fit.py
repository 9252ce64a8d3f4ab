"""``fit``, ``validate``, ``test``: LightningCLI over our modules.

A run lives in ``trainer.default_root_dir``: ``config.yaml``, ``metrics.csv``, ``last.ckpt`` to
resume from, ``best.ckpt``. The Trainer's ``use_distributed_sampler`` is off:
our loaders split the data themselves.
"""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from math import isnan
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from jsonargparse import ArgumentError, Namespace
from pytorch_lightning.callbacks import Callback, Checkpoint, ProgressBar
from pytorch_lightning.cli import LightningArgumentParser, LightningCLI
from pytorch_lightning.utilities import rank_zero_only

from robustparse import trust
from robustparse.api.progress import quiet
from robustparse.cli import training_run
from robustparse.cli.control import EqualComputeControl, without_defenses
from robustparse.cli.options import as_list
from robustparse.data.datamodule import DataModule
from robustparse.errors import InputError, say
from robustparse.files.output_folders import locked, make_folder
from robustparse.lightning import resume_only_as_told
from robustparse.models.base import Model
from robustparse.options.arguments import Arguments, check_nulls, check_objects
from robustparse.options.failures import mistake_in, parsing_error
from robustparse.options.home_folder import with_home
from robustparse.tracking.earlier_runs import SetAside, check_unused, files_of_run, restore
from robustparse.tracking.last_checkpoint import FILE as LAST
from robustparse.tracking.last_checkpoint import OLD, LastCheckpoint, NoCheckpoint
from robustparse.tracking.progress import progress
from robustparse.tracking.skip_nonfinite import SkipNonFinite

DEFAULT_FOLDER = "runs"
# Environment variables with the number of a process or machine. The first process has only zeros;
# Lightning reads them too, and the other processes write nothing.
RANKS = ("RANK", "LOCAL_RANK", "NODE_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK")

# Strategies that copy the objects of a run into other processes; the copies would be incomplete.
_PROCESS_STARTS = ("spawn", "fork", "notebook")
_SEEDS = 1 << 32  # number of different seeds of Lightning


class Cli(LightningCLI):
    """Links the data's vocabulary to the model, and gives every run its defaults.

    It never seeds globally, since modules seed themselves. The constructor runs the command. The
    first process of a ``fit`` locks its folder, so that no second ``fit`` writes into it.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        with ExitStack() as self.resources:
            super().__init__(*arguments, **named)

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Link the vocabulary, which the data module reads from its training file."""
        parser.link_arguments(
            "data.vocabulary", "model.init_args.vocabulary", apply_on="instantiate"
        )
        parser.add_class_arguments(LastCheckpoint, "last_checkpoint")
        parser.add_lightning_class_args(SkipNonFinite, "skip_non_finite")

    @staticmethod
    def subcommands() -> dict[str, set[str]]:
        """Return Lightning's commands without its `predict`, and without the option to unpickle."""
        every = LightningCLI.subcommands().items()
        return {name: skip | {"weights_only"} for name, skip in every if name != "predict"}

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:
        """Parse; a mistake becomes one message."""
        self.arguments: Arguments = args
        try:
            self.config = parser.parse_args(args)
        except ArgumentError as error:
            options = [*self._subcommand_parsers[args[0]].get_defaults().keys()]
            message = str(error).replace(f"{args[0]}.", "")
            raise parsing_error(message, args, options) from None
        config = self.config[args[0]]
        if type(seed := config.seed_everything) is int and not 0 <= seed < _SEEDS:
            raise InputError(f"must be >= 0 and below 2**32, got {seed}", key="seed_everything")
        check_objects(config, args)
        if isinstance(config.trainer, Namespace):
            check_nulls(pl.Trainer, config.trainer.as_dict(), "trainer", args)
        for part in ("trainer", "data"):
            config[part] = with_home(config[part])

    def _parse_ckpt_path(self) -> None:
        """Do nothing: our checkpoints hold no settings that replace the command line's."""

    def _dump_config(self) -> None:
        """Keep the settings for the module's hyperparameters; they were validated when parsed."""
        if not hasattr(self, "config_dump"):
            dumped = self.parser.dump(
                self.config,
                format="json",
                skip_unset=False,
                skip_validation=True,
                skip_link_targets=False,
            )
            self.config_dump = json.loads(dumped)[self.subcommand]

    def before_instantiate_classes(self) -> None:
        """Find the run's folder and the checkpoint before anything takes time."""
        command, config = str(self.subcommand), self.config[self.subcommand]
        _check(config)
        _check_scored(command, config)
        _check_vocabulary(config)
        self.folder = make_folder(Path(config.trainer.default_root_dir))
        if command == "fit" and all(os.environ.get(name, "0") == "0" for name in RANKS):
            lock = locked(self.folder, "fit --ckpt_path last", "trainer.default_root_dir")
            self.resources.enter_context(lock)
            restore(self.folder)
        self.requested = config.ckpt_path
        untrained = config.model.get("init_args", {}).get("init_from") is None
        self.start: training_run.Start | None = None
        if command == "fit" or self.requested is not None or untrained:
            self.start = training_run.resolve_checkpoint(command, self.requested, self.folder)
        config.ckpt_path = None if self.start is None else str(self.start.path)
        self.aside: list[Path] = []
        fits = command == "fit" and not config.trainer.fast_dev_run
        if fits and not (self.start is not None and self.start.within(self.folder)):
            self.aside = files_of_run(self.folder)
            check_unused(self.folder, self.aside, config.as_dict(), "trainer.default_root_dir")

    @rank_zero_only
    def before_fit(self) -> None:
        """Print where the run starts from, now that its settings are accepted."""
        config = self.config[self.subcommand]
        trainer = config.trainer
        say(*_replaced(self.arguments, trainer.callbacks))
        if trainer.fast_dev_run:
            return
        if trainer.gradient_clip_algorithm is not None and not trainer.gradient_clip_val:
            say("trainer.gradient_clip_algorithm has no effect without gradient_clip_val")
        if config.get("optimizer"):
            say("--optimizer takes the place of model.init_args.optimization and its schedule")
        last = self.folder / LAST
        if self.start is not None:
            say(f"resuming from {self.start.path}")
            if not self.aside and self.start.elsewhere(self.folder) and last.exists():
                from_old = self.start.path.resolve() == (self.folder / OLD).resolve()
                fate = "is given up" if from_old else f"becomes {OLD}"
                dropped = f"metrics from step {self.start.step} on are dropped"
                say(f"as it starts, {LAST} {fate}, {dropped}")
        elif self.requested is not None:
            say(f"no checkpoint in {self.folder} yet, training from the start")

    @rank_zero_only
    def after_fit(self) -> None:
        """Print what the run wrote, or that it was at its end before."""
        if self.config[self.subcommand].trainer.fast_dev_run:
            return
        if self.start is not None and self.trainer.global_step == self.start.step:
            say(
                f"nothing was left to train: {self.start.path} has {self.start.step} steps; to "
                "train on, raise trainer.max_steps or trainer.max_epochs"
            )
        say(training_run.left_by(self.trainer, self.folder))

    def instantiate_trainer(self, **kwargs: Any) -> pl.Trainer:
        """Add our loggers, callbacks and plugin to the Trainer's settings."""
        settings = self._get(self.config_init, "trainer")
        kwargs["plugins"] = training_run.plugins(settings.plugins, settings.strategy, self.folder)
        fits = self.subcommand == "fit" and not settings.fast_dev_run
        kwargs["logger"] = training_run.loggers(settings.logger, self.folder, fits, self.start)
        if fits and settings.enable_checkpointing is not False:
            last = self._get(self.config_init, "last_checkpoint")
            scored = settings.limit_val_batches != 0
            monitor = f"val/{self.model.task.scores.headline}" if scored else None
            chosen = training_run.callbacks(settings.callbacks, last, self.folder, monitor)
            # Lightning adds a checkpoint callback of its own unless there is one.
            checkpoints = any(isinstance(callback, Checkpoint) for callback in chosen)
            kwargs |= {"callbacks": chosen, "enable_checkpointing": checkpoints}
        elif fits:
            kwargs["callbacks"] = [NoCheckpoint(), *as_list(settings.callbacks)]
        if fits:
            kwargs["callbacks"].insert(0, SetAside(self.folder, self.aside))
            if without := without_defenses(self.arguments.typed):
                kwargs["callbacks"].append(EqualComputeControl(without, self.folder))
            shown = progress(kwargs["callbacks"], sys.stdout.isatty())
            if shown is not None and settings.enable_progress_bar is not False:
                kwargs["callbacks"].append(shown)
                kwargs["enable_progress_bar"] = isinstance(shown, ProgressBar)
        trainer = super().instantiate_trainer(**kwargs)
        resume_only_as_told(trainer)
        return trainer


def run(arguments: Arguments) -> None:
    """Run ``fit``, ``validate`` or ``test`` with its checked arguments.

    Raises:
        InputError: a mistake of the user's.
    """
    asked, every = arguments[0], Cli.subcommands()

    class Asked(Cli):
        """Offers the one command that runs, because parsers are slow to make."""

        @staticmethod
        def subcommands() -> dict[str, set[str]]:
            return {asked: every[asked]}

    settings = {"exit_on_error": False, "allow_abbrev": False}
    with quiet():
        try:
            Asked(
                Model,
                DataModule,
                save_config_callback=training_run.ConfigFile,
                save_config_kwargs={"save_to_log_dir": False},
                subclass_mode_model=True,
                subclass_mode_data=True,
                seed_everything_default=False,
                trainer_defaults={
                    "use_distributed_sampler": False,
                    "enable_model_summary": False,
                    "default_root_dir": DEFAULT_FOLDER,
                },
                parser_kwargs={**settings, asked: dict(settings)},
                args=arguments,
            )
        except Exception as error:
            if (mistake := mistake_in(error)) is None or mistake is error:
                raise
            raise mistake from error


def _check(config: Any) -> None:
    """Check the Trainer's settings.

    Raises:
        InputError: a number is out of its range, a strategy copies the run's objects, or there is a
            scheduler without an optimizer, which Lightning would ignore silently.
    """
    if not isinstance(config.trainer, Namespace):
        raise InputError(f"got {config.trainer!r}", key="trainer", expected="its settings")
    if not (folder := config.trainer.default_root_dir):
        problem = "got null" if folder is None else f"got {folder!r}"
        raise InputError(problem, key="trainer.default_root_dir", expected="a folder")
    for name in ("accumulate_grad_batches", "check_val_every_n_epoch", "val_check_interval"):
        value = config.trainer[name]
        if isinstance(value, int) and value < 1:
            raise InputError(
                f"must be >= 1, got {value}",
                key=f"trainer.{name}",
                remedy="without validation: trainer.limit_val_batches 0" if "val" in name else None,
            )
    clipped = config.trainer.gradient_clip_val
    if clipped is not None and isnan(clipped):  # every weight would become NaN
        raise InputError("must be a number, got nan", key="trainer.gradient_clip_val")
    if any(start in str(config.trainer.strategy) for start in _PROCESS_STARTS):
        raise InputError(
            f"got {config.trainer.strategy}",
            key="trainer.strategy",
            expected="a strategy that starts each process as the command itself",
            remedy="use ddp",
        )
    if config.get("lr_scheduler") and not config.get("optimizer"):
        raise InputError(
            "belongs to an --optimizer of Lightning's command line, and there is none",
            key="--lr_scheduler",
            remedy="set model.init_args.optimization.schedule, or give both",
        )


def _check_scored(command: str, config: Any) -> None:
    """Check that ``validate`` and ``test`` score at least one batch."""
    name = {"validate": "limit_val_batches", "test": "limit_test_batches"}.get(command)
    if name is not None and config.trainer[name] == 0:
        problem, remedy = f"is 0, so that {command} scores nothing", f"add --trainer.{name} 1.0"
        raise InputError(problem, key=f"trainer.{name}", remedy=remedy)


def _check_vocabulary(config: Any) -> None:
    """Check that a new model gets a vocabulary."""
    data, model = (config[part].get("init_args", {}) for part in ("data", "model"))
    named = any(data.get(name) is not None for name in ("folder", "train_file"))
    if "train_file" in data and not named and model.get("init_from") is None:
        raise InputError(
            "no training data to take the vocabulary from",
            key="data.init_args",
            remedy="set data.init_args.folder or train_file, or start from a checkpoint with "
            "model.init_args.init_from",
        )


def _replaced(arguments: Arguments, callbacks: Any) -> Iterator[str]:
    """Yield a message for each callback of a file that a later list replaces by these."""
    kept = {each.class_path.rpartition(".")[2] for each in as_list(callbacks)}
    for name, (path, line) in arguments.classes.items():
        full = None if name in kept else trust.full_path(name)
        if full is not None and issubclass(trust.allowed_class(full), Callback):
            yield (
                f"{path}:{line}: {name} is left out, because a later `callbacks` replaces this "
                "list; `callbacks+` adds to it"
            )
