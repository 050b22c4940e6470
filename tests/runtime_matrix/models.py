"""The programs of the runtime matrix: (module, inputs, dynamic shapes, further inputs) by name."""

import torch
from torch import nn
from torch.nn import functional as F


class TwoLayers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(F.relu(self.first(x)))


class SmallResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, 2, 1)
        self.first = nn.Conv2d(16, 16, 3, 1, 1)
        self.second = nn.Conv2d(16, 16, 3, 1, 1)
        self.head = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.stem(x))
        x = F.relu(x + self.second(F.relu(self.first(x))))
        return self.head(x.mean((2, 3)))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(32)
        self.project = nn.Linear(32, 96)
        self.out = nn.Linear(32, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = x.shape
        q, k, v = self.project(self.norm(x)).view(batch, tokens, 3, 4, width // 4).unbind(2)
        y = F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v)))
        return x + self.out(y.transpose(1, 2).reshape(batch, tokens, width))


def make(name: str):
    torch.manual_seed(0)
    if name == "two_layers":
        return TwoLayers().eval(), (torch.randn(2, 8),), None, ()
    if name == "small_resnet":
        return SmallResNet().eval(), (torch.randn(1, 3, 16, 16),), None, ()
    if name == "attention":
        return Attention().eval(), (torch.randn(1, 6, 32),), None, ()
    rows = torch.export.Dim("rows", min=2, max=16)
    return TwoLayers().eval(), (torch.randn(3, 8),), (({0: rows}),), ((torch.randn(7, 8),),)


NAMES = ("two_layers", "small_resnet", "attention", "dynamic_rows")
