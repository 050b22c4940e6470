"""A robot policy in the manner of ACT: camera images and joint positions to a chunk of actions.

    ./bazelw run //tools/pte -- lower examples/act_policy.py:make --backend openvino -o act.pte
    ./bazelw run //tools/pte -- run act.pte --compare examples/act_policy.py:make

After Zhao et al., "Learning Fine-Grained Bimanual Manipulation with Low-Cost Hardware" (2023):
a ResNet looks at each camera, a transformer encoder joins what it saw with the joint
positions, and a decoder turns learned queries into the next actions. The weights are random.
"""

import itertools
import math

import torch
from torch import nn

CAMERAS = 2
HEIGHT = WIDTH = 96
JOINTS = 14
CHUNK = 20
WIDTH_OF_MODEL = 128


class ResidualBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.first_norm(self.first(x)))
        return torch.relu(self.second_norm(self.second(y)) + self.shortcut(x))


class ResNet18(nn.Module):
    """Images [n, 3, height, width] to features [n, 512, height / 32, width / 32]."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        )
        widths = (64, 64, 128, 256, 512)
        self.stages = nn.Sequential(
            *(
                nn.Sequential(ResidualBlock(a, b, 1 if a == b else 2), ResidualBlock(b, b, 1))
                for a, b in itertools.pairwise(widths)
            )
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        features: torch.Tensor = self.stages(self.stem(images))
        return features


def positions(count: int, width: int) -> torch.Tensor:
    """Sinusoidal position embeddings [count, width] (Vaswani et al., 2017, section 3.5)."""
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    angles = torch.arange(count).unsqueeze(1) * rates
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)


class ActPolicy(nn.Module):
    """images [batch, cameras, 3, height, width] in 0..1, joints [batch, JOINTS] in radians to
    actions [batch, CHUNK, JOINTS]."""

    def __init__(self) -> None:
        super().__init__()
        width = WIDTH_OF_MODEL
        self.backbone = ResNet18()
        self.project_image = nn.Conv2d(512, width, 1)
        self.project_joints = nn.Linear(JOINTS, width)
        layer = {"nhead": 8, "dim_feedforward": 4 * width, "dropout": 0.0, "batch_first": True}
        self.encoder = nn.ModuleList(nn.TransformerEncoderLayer(width, **layer) for _ in range(2))
        self.decoder = nn.ModuleList(nn.TransformerDecoderLayer(width, **layer) for _ in range(2))
        self.queries = nn.Parameter(torch.randn(CHUNK, width))
        self.head = nn.Linear(width, JOINTS)
        tokens = 1 + CAMERAS * (HEIGHT // 32) * (WIDTH // 32)
        self.register_buffer("positions", positions(tokens, width))

    def forward(self, images: torch.Tensor, joints: torch.Tensor) -> torch.Tensor:
        batch = images.shape[0]
        features = self.project_image(self.backbone(images.flatten(0, 1)))
        seen = features.flatten(2).transpose(1, 2).reshape(batch, -1, WIDTH_OF_MODEL)
        tokens = torch.cat([self.project_joints(joints).unsqueeze(1), seen], dim=1)
        tokens = tokens + self.positions
        for encode in self.encoder:
            tokens = encode(tokens)
        actions = self.queries.expand(batch, -1, -1)
        for decode in self.decoder:
            actions = decode(actions, tokens)
        result: torch.Tensor = self.head(actions)
        return result


def make() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    policy = ActPolicy().eval()
    images = torch.rand(1, CAMERAS, 3, HEIGHT, WIDTH, generator=generator)
    joints = torch.rand(1, JOINTS, generator=generator) * 2 - 1
    return policy, (images, joints)
