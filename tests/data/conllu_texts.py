"""CoNLL-U written by hand."""

GOOD = "# first\n1\tHi\t_\tINTJ\tUH\t_\t0\troot\t_\t_\n\n"  # lines 1 to 3


def row(number: object, form: str = "a", head: object = 0, label: str = "root") -> str:
    return f"{number}\t{form}\t_\tNOUN\tNN\t_\t{head}\t{label}\t_\t_\n"
