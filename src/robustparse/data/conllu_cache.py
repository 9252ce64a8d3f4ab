"""The rows of a treebank, kept by ``datasets`` under a key of the file's content.

Where its folder (``HF_DATASETS_CACHE``) cannot be used, or a crash has left a file in it broken, a
treebank is parsed every time it is read.
"""

import logging
from functools import cache
from pathlib import Path
from typing import Any

from robustparse.data.conllu_rows import parse_rows
from robustparse.errors import InputError

log = logging.getLogger(__name__)


def cached_rows(path: Path, key: str, parsed: bool) -> list[dict[str, Any]]:
    """Return the rows of ``parse_rows``, whose arguments these are.

    Raises:
        InputError: see ``read_treebank``.
    """
    import datasets  # imported on use: it takes a second, and most commands' help needs none of it

    features = datasets.Features(
        {
            "words": datasets.List(datasets.Value("string")),
            "upos": datasets.List(datasets.Value("string")),
            "xpos": datasets.List(datasets.Value("string")),
            "heads": datasets.List(datasets.Value("int32")),
            "labels": datasets.List(datasets.Value("string")),
            "line": datasets.Value("int64"),
            "block": datasets.Value("string"),
        }
    )
    datasets.disable_progress_bars()
    try:
        cached = datasets.Dataset.from_generator(
            parse_rows,
            gen_kwargs={"path": str(path), "key": key, "parsed": parsed},
            features=features,
        )
        rows: list[dict[str, Any]] = cached.to_list()
        return rows
    except datasets.exceptions.DatasetGenerationError as error:
        if isinstance(error.__cause__, InputError):
            raise error.__cause__ from None
        if not isinstance(error.__cause__, OSError):
            raise
        _warn_of_cache(datasets.config.HF_DATASETS_CACHE, str(error.__cause__))
    except (OSError, ValueError) as error:  # of a broken file pyarrow and json raise the latter
        _warn_of_cache(datasets.config.HF_DATASETS_CACHE, str(error))
    return list(parse_rows(str(path), key, parsed))


@cache  # once is enough
def _warn_of_cache(folder: object, reason: str) -> None:
    log.warning(
        "%s: treebanks cannot be cached there and are parsed every time (%s); delete the folder if "
        "it is broken, or let HF_DATASETS_CACHE name one that can be written to",
        folder,
        reason,
    )
