"""Models that keep a state between calls, and programs with several methods."""

from collections.abc import Mapping
from typing import Any

import torch
import transformers
from backend_common.methods import Method
from torch import Tensor, nn
from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

from corpus.language import DECODER
from corpus.registry import Call, Inputs, methods, model, noise, spread, tokens

LENGTH = 16


def cached(name: str, dtype: torch.dtype = torch.float32, **settings: Any) -> nn.Module:
    """A causal model over a static cache: tokens [1, n], positions [n] to logits."""
    config = getattr(transformers, name + "Config")(**{**DECODER, **settings})
    causal = getattr(transformers, name + "ForCausalLM")(config).to(dtype).eval()
    causal.generation_config = transformers.GenerationConfig(
        use_cache=True,
        cache_implementation="static",
        cache_config={"batch_size": 1, "max_cache_len": LENGTH},
    )
    return Step(TorchExportableModuleWithStaticCache(causal))


class Step(nn.Module):
    """Some tokens at some positions, by place and not by name."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, token: Tensor, position: Tensor) -> Any:
        return self.model(input_ids=token, cache_position=position)


def step(position: int, seed: int) -> Inputs:
    return tokens(1, 1, seed=seed), torch.tensor([position])


STEPS = tuple(step(position, position) for position in range(1, 6))


@model("one token a call, keys and values kept in the program", also=STEPS, strict=True)
def llama_static_cache() -> tuple[nn.Module, Inputs]:
    return cached("Llama"), step(0, 0)


@model(
    "the same with norms of queries and keys, in bfloat16",
    also=STEPS,
    dtype=torch.bfloat16,
    strict=True,
)
def qwen3_static_cache() -> tuple[nn.Module, Inputs]:
    settings = {"head_dim": 16, "num_hidden_layers": 1}
    return cached("Qwen3", torch.bfloat16, **settings), step(0, 0)


GENERATION: tuple[Call, ...] = (
    ("prefill", (tokens(1, 6), torch.arange(6))),
    *(("decode", step(position, position)) for position in range(6, 10)),
    # A new text over the old one.
    ("prefill", (tokens(1, 6, seed=9), torch.arange(6))),
    ("decode", step(6, 1)),
)


@methods(
    "a prefill and a decode method over one cache and one set of weights", GENERATION, strict=True
)
def llama_prefill_decode() -> Mapping[str, Method]:
    llama = spread(cached("Llama"))
    return {name: Method(llama, inputs) for name, inputs in dict(reversed(GENERATION)).items()}


class Encoder(nn.Module):
    def __init__(self, whole: nn.Module) -> None:
        super().__init__()
        self.whole = whole

    def forward(self, source: Tensor) -> Any:
        return self.whole.get_encoder()(input_ids=source).last_hidden_state


class Decoder(nn.Module):
    def __init__(self, whole: nn.Module) -> None:
        super().__init__()
        self.whole = whole

    def forward(self, target: Tensor, memory: Tensor) -> Any:
        return self.whole(decoder_input_ids=target, encoder_outputs=(memory,)).logits


TRANSLATION: tuple[Call, ...] = (
    ("encode", (tokens(1, 9),)),
    ("decode", (tokens(1, 4), noise(1, 9, 32))),
    ("encode", (tokens(1, 9, seed=1),)),
    ("decode", (tokens(1, 4, seed=2), noise(1, 9, 32, seed=3))),
)


@methods("encoder and decoder as methods, the embeddings shared", TRANSLATION)
def t5_encode_decode() -> Mapping[str, Method]:
    config = transformers.T5Config(
        vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=1, num_heads=4, use_cache=False
    )
    t5 = spread(transformers.T5ForConditionalGeneration(config).eval())
    return {
        "encode": Method(Encoder(t5), TRANSLATION[0][1]),
        "decode": Method(Decoder(t5), TRANSLATION[1][1]),
    }


class RunningNorm(nn.Module):
    """A stream's running mean and deviation, and a ring of its last samples."""

    def __init__(self, width: int, length: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("square", torch.ones(width))
        self.register_buffer("ring", torch.zeros(length, width))
        self.mix = nn.Conv1d(width, width, length)

    def forward(self, sample: Tensor) -> Tensor:
        self.mean.mul_(0.9).add_(sample.mean(0), alpha=0.1)
        self.square.mul_(0.9).add_(sample.square().mean(0), alpha=0.1)
        self.ring.copy_(torch.cat([self.ring[1:], sample.mean(0, keepdim=True)]))
        scaled = (sample - self.mean) * torch.rsqrt(self.square - self.mean.square() + 1e-2)
        return scaled + self.mix(self.ring.t()[None])[..., 0]


@model(
    "running statistics and a ring buffer", also=tuple((noise(2, 6, seed=s),) for s in (1, 2, 3))
)
def streaming_norm() -> tuple[nn.Module, Inputs]:
    return RunningNorm(6, 4), (noise(2, 6),)
