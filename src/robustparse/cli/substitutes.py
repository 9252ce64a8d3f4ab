"""``robustparse substitutes``: make a substitution table from sources and data."""

from rich.table import Table

from robustparse.api.data_sources import DataFile
from robustparse.api.printed_tables import plain_table, print_table, rounded, terminal
from robustparse.api.substitutes import substitutes as make_table
from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.cli.options import TextOptions, as_list
from robustparse.tagsets import Tagset


def substitutes(
    sources: list[str] | str,
    data: list[str] | str,
    out: str,
    text: TextOptions,
    same_tag: bool = False,
    symmetric: bool = False,
    tagset: Tagset | None = None,
    top: int = 50,
    cosine: float | None = None,
    contexts: int = 10,
    task: str | None = None,
    tagger: str | None = None,
    device: str = "auto",
) -> None:
    """Make a table of the words that may take the place of each word of data files.

    Args:
        sources: where substitutes come from, one or several of: wordnet, neighbours:FILE (word
            vectors, or a .json file of lists), masked_lm:FOLDER, typos, training_words,
            lexicon:FILE, sememes:FILE.
        data: the data files, of any tasks; ``sample`` is the training split of the built-in data.
        out: the file of the table, a line for each word. The substitutes of ``masked_lm`` are kept
            in a file next to it, ``OUT.cache``, from which the same command resumes.
        text: how tables of texts are read.
        same_tag: keep a substitute only if its most frequent tag in the data is that of the word.
            A substitute that does not occur in the data has no tag and is left out, except a typo,
            which is the word itself, misspelt.
        symmetric: also add each word to the substitutes of its substitutes.
        tagset: which tags count: upos or xpos; by default universal tags if the data have any.
        top: the most substitutes of a word from each of neighbours, masked_lm and training_words.
        cosine: least cosine of neighbours by word vectors, from -1 to 1; by default the ``top``
            nearest words, however far.
        contexts: the most texts in which masked_lm predicts a word.
        task: the task of the data, such as ``classification``, if the file names do not show it.
        tagger: gives tags to texts without any: nltk, spacy or stanza, with a model after a colon
            (spacy:en_core_web_md).
        device: where a masked language model computes: auto, cpu or cuda.
    """
    table = make_table(
        sources,
        [
            DataFile(
                name, max_length=text.max_length, columns=text.columns, split="train", tagger=tagger
            )
            for name in as_list(data)
        ],
        same_tag=same_tag,
        symmetric=symmetric,
        tagset=tagset,
        top=top,
        cosine=cosine,
        contexts=contexts,
        task=task,
        out=out,
        device=device,
    )
    print_table(_sizes(table))
    terminal().print(f"{len(table.substitutes)} words in {out}", soft_wrap=True)
    terminal().print(f"digest {table.digest}", soft_wrap=True)


def _sizes(table: SubstitutionTable) -> Table:
    """Make a table of what each source, and all sources together, can change."""
    headings = ("words with\nsubstitutes", "tokens with\nsubstitutes", "tokens\n%")
    rows = plain_table("", ["source"], (*headings, "substitutes\nper token"))
    sizes = dict(table.settings["sizes"])
    names = {"pooled": "all sources", "table": "with --symmetric"}
    if not table.settings["symmetric"]:
        del sizes["table"]
    for name, size in sizes.items():
        counts = (str(size["words"]), str(size["tokens"]))
        rows.add_row(
            names.get(name, name), *counts, rounded(size["share"]), rounded(size["mean"], 2)
        )
    return rows
