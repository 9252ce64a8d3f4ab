"""``fit``, ``validate``, ``test``: LightningCLI over our modules.

A run lives in ``trainer.default_root_dir``: ``config.yaml``, ``metrics.csv``, ``last.ckpt`` to
resume from, ``best.ckpt``. The Trainer's ``use_distributed_sampler`` is off:
our loaders split the data themselves.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from jsonargparse import ArgumentError, Namespace
from pytorch_lightning.callbacks import Checkpoint
from pytorch_lightning.cli import LightningArgumentParser, LightningCLI
from pytorch_lightning.utilities import rank_zero_only

from robustparse.api.progress import quiet
from robustparse.cli.common import outputs
from robustparse.data.datamodule import DataModule
from robustparse.errors import InputError
from robustparse.files import locked, make_folder
from robustparse.lightning import resume_only_as_told
from robustparse.models.base import Model
from robustparse.recipes.class_paths import check_objects, checked, refusal
from robustparse.recipes.mistakes import mistake_in, refused
from robustparse.tracking.earlier import SetAside, check_unused, files_of_run, restore
from robustparse.tracking.finite import SkipNonFinite
from robustparse.tracking.last import FILE as LAST
from robustparse.tracking.last import OLD, LastCheckpoint, NoCheckpoint

DEFAULT_FOLDER = "runs"
MAPPINGS = ("trainer", "model", "data", "last_checkpoint", "skip_non_finite")
# What numbers the processes of a run, and its machines; the first of them has zeros only. Lightning
# reads these, too: one with another number writes nothing.
RANKS = ("RANK", "LOCAL_RANK", "NODE_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK")

# Strategies that copy the objects of a run into other processes, which are never whole copies.
_PROCESS_STARTS = ("spawn", "fork", "notebook")


class Cli(LightningCLI):
    """Links the data's vocabulary to the model, and gives every run its defaults.

    It never seeds globally, since modules seed themselves. It runs as it is made; one ``fit`` at a
    time has a folder, held by the first of its processes.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        with ExitStack() as self.held:
            super().__init__(*arguments, **named)

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Link the vocabulary, known once the data module has read its training file."""
        parser.link_arguments(
            "data.vocabulary", "model.init_args.vocabulary", apply_on="instantiate"
        )
        parser.add_class_arguments(LastCheckpoint, "last_checkpoint")
        parser.add_lightning_class_args(SkipNonFinite, "skip_non_finite")

    @staticmethod
    def subcommands() -> dict[str, set[str]]:
        """Lightning's, without the choice to unpickle, and without `predict`, which is ours."""
        every = LightningCLI.subcommands().items()
        return {name: skip | {"weights_only"} for name, skip in every if name != "predict"}

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:
        """Parse; a mistake is said in one message."""
        try:
            self.config = parser.parse_args(args)
        except ArgumentError as error:
            there = [*self._subcommand_parsers[args[0]].get_defaults().keys()]
            raise refusal(str(error), args) or refused(str(error), args, there) from None
        check_objects(self.config[args[0]])

    def _parse_ckpt_path(self) -> None:
        """Nothing: our checkpoints have no hyper-parameters to lay over the command line."""

    def before_instantiate_classes(self) -> None:
        """Find the run's folder and the checkpoint before anything takes time."""
        command, config = str(self.subcommand), self.config[self.subcommand]
        _check(config)
        _check_scored(command, config)
        _check_vocabulary(config)
        self.folder = make_folder(Path(config.trainer.default_root_dir))
        if command == "fit" and all(os.environ.get(name, "0") == "0" for name in RANKS):
            lock = locked(self.folder, "fit --ckpt_path last", "trainer.default_root_dir")
            self.held.enter_context(lock)
            restore(self.folder)
        requested = config.ckpt_path
        untrained = config.model.get("init_args", {}).get("init_from") is None
        self.start: outputs.Start | None = None
        if command == "fit" or requested is not None or untrained:
            self.start = outputs.resolve_checkpoint(command, requested, self.folder)
        config.ckpt_path = None if self.start is None else str(self.start.path)
        self.requested = requested
        self.aside: list[Path] = []
        fits = command == "fit" and not config.trainer.fast_dev_run
        if fits and not (self.start is not None and self.start.within(self.folder)):
            self.aside = files_of_run(self.folder)
            option = "trainer.default_root_dir"
            check_unused(self.folder, self.aside, config.as_dict(), option)

    @rank_zero_only
    def before_fit(self) -> None:
        """Say from where the run starts, now that nothing has been refused."""
        requested = self.requested
        if self.config[self.subcommand].trainer.fast_dev_run:
            return
        if self.config[self.subcommand].get("optimizer"):
            _say("--optimizer takes the place of model.init_args.optimization and its schedule")
        last = self.folder / LAST
        if self.start is not None:
            _say(f"resuming from {self.start.path}")
            if not self.aside and self.start.elsewhere(self.folder) and last.exists():
                from_old = self.start.path.resolve() == (self.folder / OLD).resolve()
                fate = "is given up" if from_old else f"becomes {OLD}"
                dropped = f"metrics from step {self.start.step} on are dropped"
                _say(f"as it starts, {LAST} {fate}, {dropped}")
        elif requested is not None:
            _say(f"no checkpoint in {self.folder} yet, training from the start")

    @rank_zero_only
    def after_fit(self) -> None:
        """Say what the run has left."""
        if not self.config[self.subcommand].trainer.fast_dev_run:
            _say(outputs.left_by(self.trainer, self.folder))

    def instantiate_trainer(self, **kwargs: Any) -> pl.Trainer:
        """Add our loggers, callbacks and plugin to the Trainer's settings."""
        settings = self._get(self.config_init, "trainer")
        kwargs["plugins"] = outputs.plugins(settings.plugins, settings.strategy, self.folder)
        fits = self.subcommand == "fit" and not settings.fast_dev_run
        kwargs["logger"] = outputs.loggers(settings.logger, self.folder, fits, self.start)
        if fits and settings.enable_checkpointing is not False:
            last = self._get(self.config_init, "last_checkpoint")
            scored = settings.limit_val_batches != 0
            monitor = f"val/{self.model.task.headline}" if scored else None
            chosen = outputs.callbacks(settings.callbacks, last, self.folder, monitor)
            # Without one of Lightning's own kind it would add one that we do not want.
            checkpoints = any(isinstance(callback, Checkpoint) for callback in chosen)
            kwargs |= {"callbacks": chosen, "enable_checkpointing": checkpoints}
        elif fits:
            kwargs["callbacks"] = [NoCheckpoint(), *outputs.as_list(settings.callbacks)]
        if fits:
            kwargs["callbacks"].insert(0, SetAside(self.folder, self.aside))
        trainer = super().instantiate_trainer(**kwargs)
        resume_only_as_told(trainer)
        return trainer


def run(arguments: Sequence[str]) -> None:
    """Parse arguments and run the subcommand.

    Raises:
        InputError: a mistake of the user's.
    """
    asked, every = arguments[0], Cli.subcommands()

    class Asked(Cli):
        """Only with the command asked for: a parser takes longer to make than to use."""

        @staticmethod
        def subcommands() -> dict[str, set[str]]:
            return {asked: every[asked]}

    settings = {"exit_on_error": False, "allow_abbrev": False}
    with quiet():
        try:
            Asked(
                Model,
                DataModule,
                save_config_callback=outputs.ConfigFile,
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
                args=checked(arguments, MAPPINGS),
            )
        except Exception as error:
            if (mistake := mistake_in(error)) is None or mistake is error:
                raise
            raise mistake from error


def _check(config: Any) -> None:
    """Refuse what Lightning divides by, and what it leaves out without a word.

    Raises:
        InputError: see there.
    """
    if not isinstance(config.trainer, Namespace):
        raise InputError(f"got {config.trainer!r}", key="trainer", expected="its settings")
    for name in ("accumulate_grad_batches", "check_val_every_n_epoch", "val_check_interval"):
        found = config.trainer[name]
        if isinstance(found, int) and found < 1:
            raise InputError(
                f"must be >= 1, got {found}",
                key=f"trainer.{name}",
                remedy="without validation: trainer.limit_val_batches 0" if "val" in name else None,
            )
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
    """Refuse to score no batch.

    Raises:
        InputError: see there.
    """
    name = {"validate": "limit_val_batches", "test": "limit_test_batches"}.get(command)
    if name is not None and config.trainer[name] == 0:
        found, remedy = f"is 0, so that {command} scores nothing", f"add --trainer.{name} 1.0"
        raise InputError(found, key=f"trainer.{name}", remedy=remedy)


def _check_vocabulary(config: Any) -> None:
    """Refuse a new model of our data modules where nothing tells its words.

    Raises:
        InputError: see there.
    """
    data, model = (config[part].get("init_args", {}) for part in ("data", "model"))
    named = any(data.get(name) is not None for name in ("folder", "train_file"))
    if "train_file" in data and not named and model.get("init_from") is None:
        raise InputError(
            "no training data to take the vocabulary from",
            key="data.init_args",
            remedy="set data.init_args.folder or train_file, or start from a checkpoint with "
            "model.init_args.init_from",
        )


def _say(text: str) -> None:
    print(f"robustparse: {text}", file=sys.stderr)
