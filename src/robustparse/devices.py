"""Names of devices, as options and recipes give them, and what the processes on them have."""

import re
from typing import TypeVar

import torch

from robustparse.errors import InputError

T = TypeVar("T")


def chosen_device(setting: str, device: str) -> str:
    """Return a device by its name; where it was left open, a GPU if there is one.

    Args:
        setting: what names it, for the error.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:1`` and so on.

    Raises:
        InputError: there is no such device.
    """
    device = str(device)  # in Python it may be a `torch.device`
    named = re.fullmatch(r"auto|cpu|cuda(?::([0-9]{1,3}))?", device)
    key, expected = f"{setting} {device}", "auto, cpu or cuda (or cuda:1 and so on)"
    if named is None:
        raise InputError("not the name of a device", key=key, expected=expected)
    if device.startswith("cuda") and int(named[1] or 0) >= gpus():
        problem = f"this machine has {gpus()} GPUs that torch can use"
        raise InputError(problem, key=key, expected=expected)
    if device != "auto":
        return device
    return "cuda" if gpus() else "cpu"


def gpus() -> int:
    """GPUs that torch can use."""
    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def gathered(items: list[T]) -> list[T]:
    """Join the lists of all processes, by rank; each of them calls it."""
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return items
    parts: list[list[T]] = [[] for _ in range(torch.distributed.get_world_size())]
    torch.distributed.all_gather_object(parts, items)
    return [item for part in parts for item in part]
