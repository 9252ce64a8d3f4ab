"""The commands of the pages, and which of those in guides are run, not only accepted."""

import re
import shlex
from pathlib import Path

from robustparse.cli.main import LIGHTNING, OWN

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [*LIGHTNING, *OWN]
START = rf"\b(?:robustparse|train\.py) (?:{'|'.join(NAMES)})\b"
COMMAND = re.compile(rf"^.*{START}.*$", re.MULTILINE)
LEFT_OUT = "…"  # stands for options that the page has given before


def commands(text: str) -> list[str]:
    """The commands in blocks of code: continued lines are joined, and `` || `` ends a command."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    joined = "\n".join(blocks).replace("\\\n", " ")
    return [line.split(" || ")[0] for line in COMMAND.findall(joined)]


def launched(command: str) -> tuple[list[str], list[str]]:
    """What starts the program, and the program's arguments."""
    words = [word for word in shlex.split(command, comments=True) if word != LEFT_OUT]
    at = next(index for index, word in enumerate(words) if word in NAMES)
    return words[: at - 1], words[at:]


# Parts of commands that another test runs, because they need processes, models or services.
ELSEWHERE = {
    "torchrun": (
        "tests/cli/test_torchrun.py",
        "test_two_machines_train_as_one_and_start_a_killed_process_again",
    ),
    "srun": (
        "tests/cli/test_documented_commands.py",
        "test_the_slurm_script_keeps_the_status_and_requeues_what_was_stopped",
    ),
    "--engine ray": (
        "tests/cli/test_ray.py",
        "test_whatever_dies_no_sentence_is_lost_or_doubled",
    ),
    "--shard": (
        "tests/cli/test_merge_command.py",
        "test_merged_shards_are_the_files_of_one_process",
    ),
    "part-": (
        "tests/cli/test_several_files.py",
        "test_several_files_are_read_as_one",
    ),
    "merge attacked": (
        "tests/cli/test_merge_command.py",
        "test_merged_shards_are_the_files_of_one_process",
    ),
    "s3://": (
        "tests/cli/test_remote_files.py",
        "test_a_report_reads_attacks_elsewhere",
    ),
    "…": (
        "tests/cli/test_attack_processes.py",
        "test_two_processes_write_what_one_writes",
    ),
    "biaffine_elmo": (
        "tests/models/test_elmo.py",
        "test_the_experiment_runs_once_its_paths_are_given",
    ),
    "quickstart --task": (
        "tests/cli/test_quickstart_command.py",
        "test_the_story_of_texts_is_told_too",
    ),
    "measure attacked": (
        "tests/cli/test_measure_and_annotate.py",
        "test_models_get_the_options",
    ),
    "annotate score": (
        "tests/cli/test_measure_and_annotate.py",
        "test_pairs_go_out_and_answers_come_in",
    ),
    "eng-spa": (
        "tests/perturbations/test_paraphrases.py",
        "test_a_command_translates_line_by_line",
    ),
    "--tagger nltk": (
        "tests/api/test_taggers.py",
        "test_an_attack_by_tags_on_utterances",
    ),
    "hf:my-classifier": (
        "tests/cli/test_attack_victim.py",
        "test_a_hugging_face_model_has_a_short_name",
    ),
    "report attacked/mine": (
        "tests/attacks/test_spans.py",
        "test_files_hold_the_changed_texts",
    ),
    "victims.Endpoint": (
        "tests/cli/test_service_commands.py",
        "test_the_commands_of_the_guide_run",
    ),
    "victims.Http": (
        "tests/cli/test_service_commands.py",
        "test_the_commands_of_the_guide_run",
    ),
    "my-parser": ("tests/cli/test_share_command.py", "test_an_entry_is_verified"),
    "victims.Spacy": ("tests/victims/test_spacy.py", "test_the_commands_take_it"),
}
# WordNet and a sentence encoder are not here: a table of substitutes takes the recipes' place, and
# training words take that of synonyms.
ABSENT = ("--attack pwws", "--attack yoo2020_wordnet")


GUIDES = {
    page.name: [
        one for one in commands(page.read_text()) if not any(named in one for named in ELSEWHERE)
    ]
    for page in PAGES
    if page.parent.name == "guides"
}
