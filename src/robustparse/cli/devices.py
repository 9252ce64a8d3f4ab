"""What commands compute on: ``--device`` names the kind, ``--devices`` counts the processes."""

import re

import torch

from robustparse.errors import InputError


def check_device(device: str) -> None:
    """Make sure that there is such a device.

    Args:
        device: as given: ``auto``, ``cpu``, ``cuda``, ``cuda:1`` and so on.

    Raises:
        InputError: there is none.
    """
    named = re.fullmatch(r"auto|cpu|cuda(?::([0-9]{1,3}))?", device)
    if named is None or (device.startswith("cuda") and int(named[1] or 0) >= _gpus()):
        raise InputError(
            f"--device {device}: expected auto, cpu or cuda (or cuda:1 and so on), and this "
            f"machine has {_gpus()} GPUs that torch can use"
        )


def chosen_device(device: str) -> str:
    """The device itself where it was left open: a GPU where there is one.

    Raises:
        InputError: see `check_device`.
    """
    check_device(device)
    if device != "auto":
        return device
    return "cuda" if _gpus() else "cpu"


def process_device(device: str, rank: int, count: int) -> str:
    """What one of several processes of this machine is given as its ``--device``.

    Args:
        device: as given: ``auto`` takes GPUs where there are any, ``cuda`` GPUs, ``cpu`` none.
        rank: of the process, from 0; it gets the GPU of this number.
        count: of the processes.

    Raises:
        InputError: fewer than one process, more processes than GPUs, or one GPU named for all.
    """
    if count < 1:
        raise InputError(f"--devices must be >= 1, got {count}")
    if count == 1:
        return device
    if re.fullmatch("cuda:[0-9]+", device):
        raise InputError(
            f"--device {device} names one GPU, and there are {count} processes; give --device cuda "
            "(process i takes GPU i; CUDA_VISIBLE_DEVICES chooses which there are), or one process"
        )
    if device == "cuda" or (device == "auto" and _gpus()):
        if count > _gpus():
            raise InputError(
                f"--devices {count}: this machine has {_gpus()} GPUs that torch can use; give at "
                "most as many, or --device cpu for processes without one"
            )
        return f"cuda:{rank}"
    return device


def _gpus() -> int:
    """GPUs that torch can use."""
    return torch.cuda.device_count() if torch.cuda.is_available() else 0
