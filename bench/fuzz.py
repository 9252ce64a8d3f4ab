"""Damaged inputs for every reader: none ends in a traceback, hangs or changes a result in silence.

    python bench/fuzz.py --inputs 10000 --seed 0

Good files are changed in one to three places, at random from (seed, reader, number), as
``fuzz_damage.py`` says. An input is *refused* by an `InputError`, or *accepted*. What is accepted
is compared. A reader whose files hold checksums, or are checked against others, must give the value
of the good file; one of plain text must give what a second, plain reading of the damaged bytes
gives, so that nothing in it was dropped or taken for something else. Anything else is a *silent
change*. Exits with 1 if there is a fault. The first few of a reader are shown with their numbers;
``--only READER --first NUMBER --inputs 1`` repeats one.

The readers are those of ``fuzz_readers.py``, ``fuzz_tables.py``, ``fuzz_utterances.py`` and
``fuzz_results.py``.
"""

import argparse
import random
import shutil
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzz_damage import damaged
from fuzz_readers import Reader, Value, given_readers
from fuzz_results import written_readers
from fuzz_tables import table_readers
from fuzz_utterances import utterance_readers
from robustparse.errors import InputError

SECONDS = 20.0  # for one input
SHOWN = 5  # faults of a reader

FAULTS = ("traceback", "hang", "silent change")
COLUMNS = ("inputs", "refused", "accepted", *FAULTS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--only", help="one reader")
    options = parser.parse_args()
    began = time.process_time()
    with TemporaryDirectory() as folder:
        readers = all_readers(Path(folder) / "made")
        if options.only is not None:
            readers = {options.only: readers[options.only]}
        faults = fuzz(readers, options.inputs, options.seed, Path(folder), options.first)
    print(f"{time.process_time() - began:.0f} s of processor time")
    sys.exit(1 if faults else 0)


def all_readers(folder: Path) -> dict[str, Reader]:
    """Return the readers by what they read; the good files of some are written into a folder."""
    of_files = {**given_readers(), **table_readers(folder / "tables"), **utterance_readers()}
    return {**of_files, **written_readers(folder)}


def fuzz(
    readers: dict[str, Reader], inputs: int, seed: int, folder: Path, first: int = 0
) -> list[str]:
    """Damage files and read them; print a table and return the faults."""
    _print_row("reader", COLUMNS)
    total: Counter[str] = Counter()
    all_faults: list[str] = []
    whole = sum(reader.weight for reader in readers.values())
    for name, reader in readers.items():
        count = -(-inputs * reader.weight // whole)
        good = reader.read(_write(folder / "good", reader, reader.content))
        counts, faults = Counter(inputs=count), []
        for number in range(first, first + count):
            content = damaged(reader.content, random.Random(f"{seed} {name} {number}"))
            outcome, said = _outcome(reader, good, content, folder / "damaged")
            counts[outcome] += 1
            if outcome in FAULTS:
                faults.append(f"{name} {number}: {outcome}: {said}")
        _print_row(name, (counts[column] for column in COLUMNS))
        for fault in faults[:SHOWN]:
            print(f"  {fault}", flush=True)
        total += counts
        all_faults += faults
    _print_row("all", (total[column] for column in COLUMNS))
    return all_faults


def _print_row(name: str, cells: Iterable[object]) -> None:
    print(f"{name:<24}" + "".join(f"{cell!s:>15}" for cell in cells), flush=True)


def _outcome(reader: Reader, good: Value, content: bytes, folder: Path) -> tuple[str, str]:
    """Read a damaged file; return what became of it, and what a fault says."""
    path = _write(folder, reader, content)
    try:
        with _limited(SECONDS):
            value = reader.read(path)
    except InputError:
        return "refused", ""
    except Hang:
        return "hang", ""
    except Exception as error:
        return "traceback", f"{type(error).__name__}: {error!s:.200}"
    try:
        expected = good if reader.plain is None else reader.plain(content)
    except Exception as error:
        return "silent change", f"accepted, and the plain reading says {error!r:.200}"
    if reader.agree(value, expected):
        return "accepted", ""
    found, wanted = repr(value), repr(expected)
    pairs = enumerate(zip(found, wanted, strict=False))
    parting = next((at for at, (one, other) in pairs if one != other), min(len(found), len(wanted)))
    shown = slice(max(0, parting - 50), parting + 50)
    return "silent change", f"{found[shown]} for {wanted[shown]}"


def _write(folder: Path, reader: Reader, content: bytes) -> Path:
    """Write a reader's file, and those beside it, into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, written in {**reader.beside, reader.name: content}.items():
        (folder / name).write_bytes(written)
    return folder / reader.name


class Hang(BaseException):
    """An input took too long."""


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise `Hang` after so long; ignore warnings, which a damaged file may well earn."""

    def end(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


if __name__ == "__main__":
    main()
