"""A report's opening paragraph: what was done to the parsers and how they bore it."""

from collections.abc import Sequence

from robustparse.report.folders import SystemRow


def summarize(rows: Sequence[SystemRow]) -> str:
    """Write one paragraph about the systems, the first of which is compared with the others.

    Says only what was computed: a figure that is None leaves its sentence out. The share won back
    is (best attacked - first attacked) / (first clean - first attacked), in LAS.
    """
    first = rows[0]
    sentences = [_what_was_done(rows), _fell(first, "the parser")]
    scored = [row for row in rows if row.attacked_las is not None]
    if len(rows) > 1 and comparable(rows) and len(scored) == len(rows):
        best = max(scored, key=lambda row: row.attacked_las or 0.0)
        if best is first:
            others = "The other one does not do" if len(rows) == 2 else "None of the others does"
            sentences.append(f"{others} better under attack.")
        else:
            sentences += [_fell(best, "the parser"), _won_back(first, best)]
    elif len(rows) > 1:
        sentences.append(
            "The systems were not all scored on the same sentences under the same attack, with the "
            "same settings and seed, so their figures are not to be compared."
        )
    return " ".join(sentence for sentence in sentences if sentence)


def comparable(rows: Sequence[SystemRow]) -> bool:
    """Tell whether all rows stem from the same attack on as many sentences and words.

    Where it is known what they were run with, it has to be the same but for the parser.
    """
    same = len({(row.attack, row.n_sentences, row.n_words) for row in rows}) == 1
    return same and len({row.run for row in rows if row.run is not None}) < 2


def _what_was_done(rows: Sequence[SystemRow]) -> str:
    few = ("One parser", "Two parsers", "Three parsers", "Four parsers", "Five parsers")
    parsers = len({row.parser or row.name for row in rows})
    count = few[parsers - 1] if parsers <= len(few) else f"{parsers} parsers"
    verb = "was" if parsers == 1 else "were"
    edits = [row.edits_per_sentence for row in rows if row.edits_per_sentence is not None]
    if not edits:
        return f"{count} {verb} attacked by substituting words."
    low, high = f"{min(edits):.1f}", f"{max(edits):.1f}"
    mean = low if low == high else f"{low} to {high}"
    return (
        f"{count} {verb} attacked by substituting words, {mean} a sentence on average, chosen so "
        "that the parse goes wrong."
    )


def _fell(row: SystemRow, what: str) -> str:
    if row.clean_las is None or row.attacked_las is None:
        return ""
    worse = (
        "" if row.success_rate is None else f"; {row.success_rate:.0f} % of the sentences got worse"
    )
    return (
        f"On the original sentences {what} “{row.name}” gives {row.clean_las:.1f} % of the words "
        f"their right head and label, on the perturbed ones {row.attacked_las:.1f} %{worse}."
    )


def _won_back(first: SystemRow, best: SystemRow) -> str:
    if first.clean_las is None or first.attacked_las is None or best.attacked_las is None:
        return ""
    lost = first.clean_las - first.attacked_las
    if lost <= 0:
        return ""
    share = 100 * (best.attacked_las - first.attacked_las) / lost
    return f"So “{best.name}” wins back {share:.0f} % of what “{first.name}” loses to the attack."
