"""The three lines of Python that the README shows."""

import subprocess
import sys
from importlib.resources import files

from robustparse import __version__, load
from robustparse.data.sample.treebank import sample_treebank
from sample_runs import save_checkpoint, trained_parser


def test_a_parser_is_loaded_and_parses_lists_of_words(tmp_path):
    path = save_checkpoint(trained_parser().float(), tmp_path / "tiny.ckpt")
    parser = load(path)
    sentences = [example.sentence for example in sample_treebank(0).test[:5]]
    trees = parser.predict([list(sentence.words) for sentence in sentences])
    assert trees == parser.predict(sentences)
    assert [len(tree.heads) for tree in trees] == [len(sentence) for sentence in sentences]
    assert all(tree.heads.count(0) == 1 for tree in trees)


def test_importing_the_package_does_not_wait_for_torch():
    code = "import robustparse, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_package_is_a_command():
    asked = [sys.executable, "-m", "robustparse", "--version"]
    answer = subprocess.run(asked, check=False, capture_output=True, text=True)
    assert answer.stdout.split() == ["robustparse", __version__]


def test_type_checkers_read_the_types():
    assert (files("robustparse") / "py.typed").is_file()  # PEP 561
