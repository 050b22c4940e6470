"""Policies of robots and a voice detector, written for this corpus."""

import math
from typing import cast

import act_policy
import torch
import torch.nn.functional as F
import transformers
from torch import Tensor, nn
from torch.export import Dim

from corpus.registry import Inputs, model, noise, tokens


@model("the policy of examples/act_policy.py: cameras and joints to a chunk of actions", quick=True)
def act() -> tuple[nn.Module, Inputs]:
    return act_policy.make()


def sinusoid(time: Tensor, width: int) -> Tensor:
    """Embedding [batch, width] of diffusion steps [batch]."""
    rates = torch.exp(torch.arange(width // 2) * (-math.log(10000.0) / (width // 2 - 1)))
    angles = time.to(torch.float32)[:, None] * rates[None, :]
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class ConditionalBlock(nn.Module):
    """Two convolutions over time [batch, channels, steps]; the condition scales and shifts."""

    def __init__(self, inputs: int, outputs: int, condition: int) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.Conv1d(inputs, outputs, 5, padding=2), nn.GroupNorm(4, outputs), nn.Mish()
        )
        self.second = nn.Sequential(
            nn.Conv1d(outputs, outputs, 5, padding=2), nn.GroupNorm(4, outputs), nn.Mish()
        )
        self.film = nn.Sequential(nn.Mish(), nn.Linear(condition, 2 * outputs))
        self.shortcut = nn.Conv1d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        scale, shift = self.film(condition).unsqueeze(-1).chunk(2, dim=1)
        y = self.second(scale * self.first(x) + shift)
        return cast(Tensor, y + self.shortcut(x))


class DiffusionPolicy(nn.Module):
    """After Chi et al., "Diffusion Policy" (2023): a U-net over the actions' time.

    actions [batch, steps, joints], diffusion step [batch], observation [batch, width] to the
    noise [batch, steps, joints].
    """

    def __init__(self, joints: int, width: int, channels: tuple[int, ...] = (16, 32)) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, 32), nn.Mish(), nn.Linear(32, 16))
        condition = width + 16
        low, high = channels
        self.down = nn.ModuleList([ConditionalBlock(joints, low, condition)])
        self.shrink = nn.Conv1d(low, low, 3, stride=2, padding=1)
        self.middle = ConditionalBlock(low, high, condition)
        self.grow = nn.ConvTranspose1d(high, low, 4, stride=2, padding=1)
        self.up = ConditionalBlock(2 * low, low, condition)
        self.head = nn.Conv1d(low, joints, 1)

    def forward(self, actions: Tensor, step: Tensor, observation: Tensor) -> Tensor:
        condition = torch.cat([self.time(sinusoid(step, 16)), observation], dim=-1)
        x = actions.transpose(1, 2)
        skip = self.down[0](x, condition)
        x = self.grow(self.middle(self.shrink(skip), condition))
        x = self.up(torch.cat([x, skip], dim=1), condition)
        return cast(Tensor, self.head(x).transpose(1, 2))


@model(
    "a U-net over time, conditioned by FiLM; Mish; any batch",
    dynamic_shapes=({0: Dim("batch", min=1, max=8)},) * 3,
    also=((noise(5, 16, 7, seed=1), torch.tensor([0, 99, 3, 4, 5]), noise(5, 20, seed=2)),),
    quick=True,
)
def diffusion_policy() -> tuple[nn.Module, Inputs]:
    inputs = (noise(2, 16, 7), torch.tensor([4, 50]), noise(2, 20, seed=3))
    return DiffusionPolicy(7, 20), inputs


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return (wide * (1 + self.weight.float())).type_as(x)


def rotate(x: Tensor, positions: Tensor) -> Tensor:
    """RoPE of x [batch, heads, length, width] at positions [batch, length]."""
    half = x.shape[-1] // 2
    rates = 10000.0 ** (torch.arange(half, dtype=torch.float32) / -half)
    angles = positions[:, None, :, None].to(torch.float32) * rates
    first, second = x.float().split(half, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1).type_as(x)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.each = heads, width // heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, self.each, bias=False)
        self.value = nn.Linear(width, self.each, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        batch, length, width = x.shape
        q = self.query(x).view(batch, length, self.heads, self.each).transpose(1, 2)
        k = self.key(x).view(batch, length, 1, self.each).transpose(1, 2)
        v = self.value(x).view(batch, length, 1, self.each).transpose(1, 2)
        q, k = rotate(q, positions), rotate(k, positions)
        y = F.scaled_dot_product_attention(
            q, k.expand(-1, self.heads, -1, -1), v.expand(-1, self.heads, -1, -1), mask[:, None]
        )
        return cast(Tensor, self.out(y.transpose(1, 2).reshape(batch, length, width)))


class GemmaLayer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.before, self.after = RMSNorm(width), RMSNorm(width)
        self.attention = Attention(width, heads)
        self.gate = nn.Linear(width, 2 * width, bias=False)
        self.up = nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        x = x + self.attention(self.before(x), positions, mask)
        y = self.after(x)
        return cast(Tensor, x + self.down(F.gelu(self.gate(y), approximate="tanh") * self.up(y)))


class VisionLanguageAction(nn.Module):
    """In the manner of pi0 (Black et al., 2024): SigLIP's patches and a prompt form a prefix that
    sees itself, the actions see all; flow matching gives the actions' velocity.

    images [batch, 3, 32, 32], prompt [batch, words] with its mask, noisy actions
    [batch, steps, joints], time [batch] to velocities [batch, steps, joints].
    """

    def __init__(self, joints: int, width: int = 32) -> None:
        super().__init__()
        config = transformers.SiglipVisionConfig(
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            image_size=32,
            patch_size=8,
            vision_use_head=False,
        )
        self.vision = transformers.SiglipVisionModel(config)
        self.project = nn.Linear(32, width)
        self.words = nn.Embedding(100, width)
        self.action = nn.Linear(joints, width)
        self.mix = nn.Sequential(nn.Linear(2 * width, width), nn.SiLU(), nn.Linear(width, width))
        self.layers = nn.ModuleList(GemmaLayer(width, 4) for _ in range(2))
        self.norm = RMSNorm(width)
        self.head = nn.Linear(width, joints)

    def forward(
        self, images: Tensor, prompt: Tensor, prompt_mask: Tensor, actions: Tensor, time: Tensor
    ) -> Tensor:
        batch, steps, _ = actions.shape
        seen = self.project(self.vision(pixel_values=images).last_hidden_state)
        said = self.words(prompt) * math.sqrt(self.words.embedding_dim)
        acts = self.action(actions)
        when = sinusoid(time * 1000, acts.shape[-1])[:, None].expand(-1, steps, -1)
        acts = self.mix(torch.cat([acts, when], dim=-1))
        valid = torch.cat(
            [
                torch.ones(batch, seen.shape[1], dtype=torch.bool),
                prompt_mask,
                torch.ones(batch, steps, dtype=torch.bool),
            ],
            dim=1,
        )
        # Blocks: 0 for the prefix, 1 for the actions; a token sees its own block and those before.
        prefix = seen.shape[1] + prompt.shape[1]
        block = torch.cat(
            [torch.zeros(prefix, dtype=torch.int64), torch.ones(steps, dtype=torch.int64)]
        )
        visible = block[None, :] <= block[:, None]
        mask = visible[None] & valid[:, None, :] & valid[:, :, None]
        # Padding sees itself, so that no row of the attention is empty.
        mask = mask | torch.eye(mask.shape[-1], dtype=torch.bool)[None]
        positions = valid.cumsum(dim=1) - 1
        x = torch.cat([seen, said, acts], dim=1)
        for layer in self.layers:
            x = layer(x, positions, mask)
        return cast(Tensor, self.head(self.norm(x)[:, -steps:]))


@model(
    "images, words and actions under a prefix mask; positions by a cumulative sum of the mask",
    also=(
        (
            noise(1, 3, 32, 32, seed=5),
            tokens(1, 6, seed=6),
            torch.tensor([[True] * 3 + [False] * 3]),
            noise(1, 4, 7, seed=7),
            torch.tensor([0.9]),
        ),
    ),
)
def vision_language_action() -> tuple[nn.Module, Inputs]:
    inputs = (
        noise(1, 3, 32, 32),
        tokens(1, 6),
        torch.tensor([[True] * 5 + [False]]),
        noise(1, 4, 7, seed=1),
        torch.tensor([0.3]),
    )
    return VisionLanguageAction(7), inputs


class VoiceDetector(nn.Module):
    """In the manner of silero: a window of samples and an LSTM's state to the odds of speech.

    samples [batch, 512], state [2, batch, 32] to (odds [batch, 1], next state).
    """

    def __init__(self) -> None:
        super().__init__()
        window = torch.hann_window(128)
        frequencies = torch.arange(65)[:, None] * torch.arange(128)[None, :] * (2 * math.pi / 128)
        basis = torch.cat([frequencies.cos(), frequencies.sin()]) * window
        self.register_buffer("basis", basis[:, None, :])
        self.encoder = nn.Sequential(
            nn.Conv1d(65, 32, 3, padding=1),
            nn.ReLU(),
            nn.Conv1d(32, 32, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.cell = nn.LSTMCell(32, 32)
        self.head = nn.Conv1d(32, 1, 1)

    def forward(self, samples: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        padded = F.pad(samples, (0, 64), mode="reflect")
        spectrum = F.conv1d(padded[:, None], cast(Tensor, self.basis), stride=64)
        real, imaginary = spectrum.split(65, dim=1)
        features = self.encoder((real.square() + imaginary.square()).sqrt())
        hidden, cell = self.cell(features.mean(-1), (state[0], state[1]))
        odds = torch.sigmoid(self.head(torch.relu(hidden)[:, :, None]))
        return odds.mean(2), torch.stack([hidden, cell])


@model(
    "a Fourier transform by convolution, an LSTM whose state goes in and out",
    also=((noise(1, 512, seed=1), noise(2, 1, 32, seed=2)),),
)
def voice_detector() -> tuple[nn.Module, Inputs]:
    return VoiceDetector(), (noise(1, 512), torch.zeros(2, 1, 32))


class Recurrent(nn.Module):
    """A policy with memory: observations [batch, steps, 10] to actions [batch, steps, 4]."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(10, 16, num_layers=2, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(32, 16, batch_first=True)
        self.head = nn.Linear(16, 4)

    def forward(self, observations: Tensor) -> Tensor:
        y, _ = self.lstm(observations)
        y, _ = self.gru(y)
        return cast(Tensor, self.head(y).tanh())


@model("an LSTM in both directions, a GRU", also=((noise(2, 6, 10, seed=1),),))
def recurrent_policy() -> tuple[nn.Module, Inputs]:
    return Recurrent(), (noise(2, 6, 10),)
