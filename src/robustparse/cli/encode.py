"""``robustparse encode``: make a robust encoding and print what it merges."""

from rich.table import Table

from robustparse.api.encode import StopWordList
from robustparse.api.encode import encode as make_encoding
from robustparse.api.printed_tables import plain_table, print_table, terminal
from robustparse.certificates.clustering import Fidelity
from robustparse.certificates.recoding import Recoding
from robustparse.cli.options import DataOptions
from robustparse.data.robust_encoding import Encoding

_LARGEST = 20  # clusters that are printed
_WORDS = 12  # words of a cluster that are printed


def encode(
    substitutes: str,
    data: DataOptions,
    out: str,
    fidelity: float | None = None,
    measure: Fidelity | None = None,
    stop_words: StopWordList | None = None,
    task: str | None = None,
) -> None:
    """Make a robust encoding: words that may replace each other are read as one.

    Args:
        substitutes: the substitution table, a file of ``robustparse substitutes``.
        data: the training text; an encoding made from test text would leak it.
        out: the file of the encoding, which models take as ``--model.encoding``.
        fidelity: how much codes must tell about words: from 0 (all words connected by substitutes
            have one code) to 1 (every word has its own code). By default 0.7 for
            ``mutual_information`` and 0.6 for ``one_hot``.
        measure: what codes must tell: with ``mutual_information``, a word's tag and relation in
            treebanks, or the label of its text; with ``one_hot``, the word itself (Jones et al.
            2020). By default ``mutual_information`` for treebanks and ``one_hot`` for other data.
        stop_words: the list of stop words, of ``nltk`` or ``textfooler``, that keep their own
            codes; by default, stop words are treated like other words.
        task: the task of the data, such as ``classification``, if the file name does not show it.
    """
    encoding = make_encoding(
        substitutes,
        data.file(seed=0, split="train"),
        fidelity=fidelity,
        measure=measure,
        stop_words=stop_words,
        task=task,
        out=out,
    )
    print_table(_shares(encoding))
    print_table(_largest(encoding))
    terminal().print(f"{len(encoding.clusters)} clusters in {out}", soft_wrap=True)


def _shares(encoding: Encoding) -> Table:
    tokens = Recoding(**encoding.settings["tokens"])
    rows = plain_table("", [""], [""])
    rows.show_header = False
    rows.add_row("tokens that are read as another word, %", _percent(tokens.recoded, tokens.tokens))
    rows.add_row("tokens with substitutes, %", _percent(tokens.attackable, tokens.tokens))
    rows.add_row(
        "of these, with one code whatever the substitute, %",
        _percent(tokens.one_code, tokens.attackable),
    )
    return rows


def _percent(count: int, total: int) -> str:
    return f"{100 * count / total:.1f}" if total else "-"


def _largest(encoding: Encoding) -> Table:
    """Make a table of the clusters with the most words, and their most frequent words."""
    rows = plain_table(f"the {_LARGEST} largest clusters", ["code"], ["words"])
    rows.add_column("most frequent words")
    largest = sorted(encoding.clusters.items(), key=lambda item: (-len(item[1]), item[0]))
    for code, words in largest[:_LARGEST]:
        others = sorted(words.keys() - {code}, key=lambda word: (-words[word], word))
        rows.add_row(code, str(len(words)), " ".join(others[:_WORDS]))
    return rows
