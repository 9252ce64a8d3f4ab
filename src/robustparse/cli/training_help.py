"""The help of ``fit``, ``validate`` and ``test``: our options first, Lightning's on request."""

from textwrap import shorten

from robustparse import trust
from robustparse.options.installed import CONFIGS, names_in, summary_of

OPTIONS = {
    "--config NAME": "an installed configuration (below) or a YAML file; later ones add to earlier "
    "ones and replace their values",
    "--data.folder FOLDER": "the corpus: a folder with train, dev and test files, or `sample`",
    "--data.train_file FILE": "instead of a folder; also --data.dev_file and --data.test_file",
    "--columns NAMES": "for texts in tables, the names of the columns of text and answer, such as "
    "'[review, stars]'",
    "--max_length N": "words in the longest allowed sentence",
    "--model.init_from CHECKPOINT": "start from the weights of a checkpoint, of the folder of a "
    "run or of a shared model, or of a model on the hub (hf://OWNER/NAME)",
    "--ckpt_path CHECKPOINT": "`last`, `best`, a checkpoint or a run's folder; fit resumes from "
    "it, validate and test score it",
    "--trainer.default_root_dir FOLDER": "the output folder (runs): config.yaml, metrics.csv, "
    "best.ckpt, last.ckpt",
    "--trainer.max_epochs N": "how long to train; also --trainer.max_steps N",
    "--trust NAME": trust.HELP,
    "--print_config": "print all settings as YAML",
    "--help.all": "list every option, Lightning's included; --model.help CLASS and --data.help "
    "CLASS list the arguments of a class",
}
EXAMPLE = "--config experiment/ud_biaffine --config defense/substitution --data.folder corpus"


def training_help(command: str, summary: str) -> str:
    """Return the help of a command.

    Args:
        command: ``fit``, ``validate`` or ``test``.
        summary: what it does.
    """
    lines = [f"usage: robustparse {command} --config NAME [--config NAME ...] [options]"]
    lines += ["", summary, "", f"example: robustparse {command} {EXAMPLE}", "", "options:"]
    for option, text in OPTIONS.items():
        lines += [f"  {option}", f"      {text}"]
    for title, folder in (("experiments", "experiment"), ("defenses", "defense")):
        lines += ["", f"{title}:"]
        for name, path in names_in(CONFIGS / folder).items():
            text = shorten(summary_of(path), 90, placeholder=" ...")
            lines.append(f"  {folder}/{name:<32}  {text}")
    return "\n".join(lines)
