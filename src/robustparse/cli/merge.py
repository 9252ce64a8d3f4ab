"""``robustparse merge``: combine the outputs of all shards into that of an unsharded run."""

from pathlib import Path

from robustparse.api.merge import merge as merged
from robustparse.api.printed_tables import terminal


def merge(out: str, shards: list[str]) -> None:
    """Combine the outputs of all shards of a run into that of an unsharded run.

    Args:
        out: the folder or file to write.
        shards: the folders or files that a command wrote with --shard, in any order.
    """
    count = merged(Path(out), [Path(shard) for shard in shards])
    terminal().print(f"{count} shards joined in {out}", soft_wrap=True)
