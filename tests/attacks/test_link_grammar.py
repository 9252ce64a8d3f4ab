"""Link grammar: sentences or words counted, commands that die, hang or do not answer."""

import shutil
import sys
from pathlib import Path

import pytest

from robustparse.attacks.constraints.grammar import GrammarErrors
from robustparse.attacks.constraints.link_grammar import LinkGrammar
from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.errors import InputError
from robustparse.types import Sentence


def command(tmp_path: Path, body: str) -> str:
    """A program that stands in for link-parser; it reads a sentence a line."""
    path = tmp_path / "parser"
    path.write_text(
        f"#!{sys.executable}\nimport os, sys, time\nsay = lambda s: print(s, flush=True)\n"
    )
    with path.open("a") as file:
        file.write(
            f"say('limit set to 1000')\nfor line in sys.stdin:\n    line = line.strip()\n{body}"
        )
    path.chmod(0o755)
    return str(path)


COUNTS = """\
    if 'bad' in line:
        say('No complete linkages found.')
        if '-null=1' in sys.argv:
            say('Found 1 linkage at null count 9')
            sys.stdout.write('\\tcost vector = (UNUSED= '); sys.stdout.flush(); time.sleep(0.05)
            say(f"{line.split().count('bad')}2 DIS= 0.00 LEN=7)")
    else:
        say('Found 2 linkages'); say('\\tUnique linkage, cost vector = (UNUSED=0 DIS= 3.00 LEN=4)')
"""


def test_link_grammar_counts_sentences_or_words(tmp_path) -> None:
    program = command(tmp_path, COUNTS)
    texts = ["a bad bad day", "a good day", "", "! bad", "bad one two three", "!", "fine"]
    checker = LinkGrammar(program, longest=4)
    assert checker.errors(texts) == [1, 0, 0, 1, 1, 0, 0]
    process = checker._process
    assert checker.errors(texts[::-1]) == [0, 0, 1, 1, 0, 0, 1]
    assert checker._process is process  # kept
    words = LinkGrammar(program, count="words", longest=3)
    assert words.errors(["a bad bad", *texts]) == [22, 0, 0, 0, 12, 0, 0, 0]
    for one in (checker, words):
        one.close()
        one.close()
    assert process.returncode is not None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("    time.sleep(60)\n", r"gave no answer within 0\.3 s to 'a day'"),
        ("    say('UNUSED=0'.replace('U', 'V'))\n", r"gave no answer within 0\.3 s"),
        ("    say('no dictionary'); sys.exit(3)\n", r"ended with code 3 .*saying: no dictionary"),
        ("    sys.exit(0)\n", "ended with code 0 at 'a day'"),
        ("    os.close(1); os.close(2); time.sleep(60)\n", "ended with code -9 at 'a day'"),
    ],
)
def test_a_checker_that_hangs_or_dies(tmp_path, body: str, message: str) -> None:
    checker = LinkGrammar(command(tmp_path, body), seconds=0.3)
    if "ended" in message:
        checker.seconds = 60.0
    with pytest.raises(InputError, match=message):
        checker.errors(["a day"])
    assert checker._process is None


def test_a_checker_that_dies_between_two_texts_says_so(tmp_path) -> None:
    checker = LinkGrammar(command(tmp_path, COUNTS + "    sys.exit(7)\n"))
    with pytest.raises(InputError, match="ended with code 7"):
        checker.errors(["a day"] * 3)
    assert checker.errors(["a day"]) == [0]  # another process


def test_bad_settings(tmp_path) -> None:
    with pytest.raises(InputError, match=r"cannot be run .*apt install link-grammar"):
        LinkGrammar(str(tmp_path / "absent")).errors(["a"])
    with pytest.raises(InputError, match="seconds must be > 0"):
        LinkGrammar(seconds=0)
    with pytest.raises(InputError, match="link grammar: longest must be >= 1, got 0"):
        LinkGrammar(longest=0)
    with pytest.raises(InputError, match="count must be one of sentence, words"):
        LinkGrammar(count="characters")


def test_the_real_link_grammar() -> None:
    if shutil.which("link-parser") is None:
        pytest.skip("link-parser is not installed (Debian: apt install link-grammar)")
    sentence = Sentence(("The", "cat", "sleeps", "on", "the", "mat", "."))
    edits = [
        Edit(sentence, sentence.words, position, word)
        for position, word in ((2, "sleep"), (2, "lies"), (1, "dog"), (4, "an"), (1, "of"))
    ]
    for count in ("sentence", "words"):
        one = GrammarErrors(LinkGrammar(count=count))
        assert one.admits(edits).tolist() == [False, True, True, False, False]
        one.checker.close()


def test_the_real_link_grammar_finds_a_linkage_among_several() -> None:
    if shutil.which("link-parser") is None:
        pytest.skip("link-parser is not installed (Debian: apt install link-grammar)")
    # Most of its linkages fail; the second has many that pass, of which one is shown.
    good = ["why would you want a chihuahua?", "I saw the man in the park with a telescope."]
    for count in ("sentence", "words"):
        checker = LinkGrammar(count=count)
        errors = checker.errors([good[0], "the the cat", *good, "The cat sleep the.", *good])
        assert [number > 0 for number in errors] == [False, True, False, False, True, False, False]
        checker.close()


PICKY = """\
    if len(line.encode()) > 2045:
        sys.exit(0)
    if not line.split('\\0')[0].strip(' \u200b\u200c\u200d\u2060'):
        continue
    if len(line.replace(',', ' ,').split()) > 254:
        print('link-grammar: Error: sentence too long, contains more than 254 words',
              file=sys.stderr, flush=True)
        continue
    say('No complete linkages found.'); say('cost vector = (UNUSED=2 DIS= 0.00 LEN=1)')
"""

# Which the command does not answer, or quits at; each beside a text like it that it answers.
UNANSWERED = ["\u200b", "\0", "\u2060 \u200b", "%\u200d", "\x1f"]
UNANSWERED += ["é" * 1023, "of, " * 130, "of " * 255]
ANSWERED = ["\u200bof of", "\0of of", "\u200b!of of", "of\0of"]
ANSWERED += ["é" * 1022, "of, " * 120, "of " * 200]


@pytest.mark.parametrize("count", ["sentence", "words"])
def test_texts_that_link_grammar_does_not_answer_count_no_error(tmp_path, count) -> None:
    checker = LinkGrammar(command(tmp_path, PICKY), count=count, longest=None)
    texts = [text for pair in zip(UNANSWERED, [*ANSWERED, "of"], strict=True) for text in pair]
    error = 1 if count == "sentence" else 2
    assert checker.errors(texts) == [0, error] * 8
    checker.close()


def test_the_real_link_grammar_answers_or_is_not_asked() -> None:
    if shutil.which("link-parser") is None:
        pytest.skip("link-parser is not installed (Debian: apt install link-grammar)")
    checker = LinkGrammar(longest=None)
    good, bad = "The cat sleeps.", "The cat sleep the."
    for text in UNANSWERED:
        assert checker.errors([good, text, bad, text, good]) == [0, 0, 1, 0, 0]
    for text in ANSWERED[:5]:
        assert checker.errors([good, text, good])[::2] == [0, 0]
    checker.close()
