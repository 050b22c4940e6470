"""The order in which a tensor's dimensions lie in memory, as ExecuTorch records it."""

import torch


def order_of(tensor: torch.Tensor) -> tuple[int, ...]:
    """Which dimension is which in memory; sizes that are not known do not change it."""
    if not any(isinstance(number, torch.SymInt) for number in (*tensor.shape, *tensor.stride())):
        return tuple(tensor.dim_order())
    rank = tensor.dim()
    for last, wanted in ((torch.channels_last, 4), (torch.channels_last_3d, 5)):
        if (
            rank == wanted
            and not tensor.is_contiguous()
            and tensor.is_contiguous(memory_format=last)
        ):
            return (0, *range(2, rank), 1)
    return tuple(range(rank))
