"""``fit``, ``validate``, ``test``, ``predict``: LightningCLI over our modules.

The Trainer's ``use_distributed_sampler`` is off: our loaders split the data themselves.
"""

from collections.abc import Sequence

import pytorch_lightning as pl
from pytorch_lightning.cli import LightningArgumentParser, LightningCLI

from robustparse.parsers.base import ParserModule


class Cli(LightningCLI):
    """Links the data's vocabulary to the model; never seeds globally, since modules seed themselves."""

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """The vocabulary is known once the data module has read its training file."""
        parser.link_arguments(
            "data.vocabulary", "model.init_args.vocabulary", apply_on="instantiate"
        )


def run(arguments: Sequence[str]) -> None:
    """Parse arguments and run the subcommand."""
    Cli(
        ParserModule,
        pl.LightningDataModule,
        subclass_mode_model=True,
        subclass_mode_data=True,
        seed_everything_default=False,
        save_config_kwargs={"overwrite": True},
        trainer_defaults={"use_distributed_sampler": False},
        args=list(arguments),
    )
