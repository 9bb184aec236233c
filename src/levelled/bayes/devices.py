"""Where tensors live: the CPU, or a graphics card that torch can use here."""

import torch
from torch import Generator

from levelled.errors import InputError

__all__ = ["Device", "at_hand", "check_device"]

Device = str | torch.device


def check_device(device: object) -> Device:
    """The device, if this machine has it, with random numbers and float64.

    >>> check_device("cpu")
    'cpu'
    """
    if not isinstance(device, Device):
        raise InputError(f'device must be a name such as "cpu" or "cuda"; it is {device!r}.')
    try:
        Generator(device)
        torch.empty(0, dtype=torch.float64, device=device)
    except (AssertionError, RuntimeError, TypeError) as wrong:
        raise InputError(
            f"device {str(device)!r} cannot be used here: torch {torch.__version__} has none on "
            f'this machine, or none with float64. Take device="cpu".'
        ) from wrong
    return device


def at_hand(device: object) -> Device:
    """The device, or "cpu" on a machine without it."""
    try:
        return check_device(device)
    except InputError:
        return "cpu"
