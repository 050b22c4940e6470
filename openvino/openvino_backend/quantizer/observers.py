"""How ranges become scales."""

import torch
from torchao.quantization.pt2e import HistogramObserver, PerChannelMinMaxObserver

# u8 × s8 products are added in pairs in 16 bits on CPUs without VNNI: 2 × 255 × 63 fits, 2 × 255 ×
# 127 does not.
SEVEN_BITS = 63
EIGHT_BITS = 127


class OverflowSafeWeights(PerChannelMinMaxObserver):
    """8-bit weights within -63..63.

    The scale grows, the range of the type stays: a narrower range would no longer be int8 for
    OpenVINO.
    """

    def calculate_qparams(self) -> tuple[torch.Tensor, torch.Tensor]:
        scale, zero_point = super().calculate_qparams()
        return scale * (EIGHT_BITS / SEVEN_BITS), zero_point


class SymmetricActivations(HistogramObserver):
    """uint8 around 127; activations that are never negative take all of 0..255."""

    def calculate_qparams(self) -> tuple[torch.Tensor, torch.Tensor]:
        never_negative = bool((self.min_val >= 0).all())
        self.qscheme = torch.per_tensor_affine if never_negative else torch.per_tensor_symmetric
        scale, zero_point = super().calculate_qparams()
        return scale, zero_point
