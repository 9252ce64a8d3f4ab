"""``robustparse merge``: join what the shards of a run wrote into what one process writes."""

from pathlib import Path

from robustparse.api.merge import merge as merged
from robustparse.api.tables import terminal


def merge(out: str, shards: list[str]) -> None:
    """Join the folders or files of all shards of a run into what one process writes.

    Args:
        out: the folder or file to write.
        shards: the folders or files that a command wrote with --shard, in any order.
    """
    merged(Path(out), [Path(shard) for shard in shards])
    terminal().print(f"{len(shards)} shards joined in {out}", soft_wrap=True)
