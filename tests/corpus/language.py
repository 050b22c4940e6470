"""Language models, from transformers."""

from typing import Any

import torch
import transformers
from torch import nn
from torch.export import Dim

from corpus.registry import Called, Inputs, model, noise, tokens

LENGTH = Dim("length", min=2, max=64)
BATCH = Dim("batch", min=1, max=8)
BY_LENGTH = (({1: LENGTH},),)

DECODER = {
    "vocab_size": 100,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "attn_implementation": "sdpa",
}
ENCODER = {
    "vocab_size": 100,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
}


def decoder(name: str, **settings: Any) -> nn.Module:
    """A causal language model by its family's name: tokens [batch, length] to logits."""
    config = getattr(transformers, name + "Config")(**{**DECODER, **settings})
    causal = getattr(transformers, name + "ForCausalLM")(config)
    return Called(causal, "input_ids", "logits", use_cache=False)


@model(
    "grouped queries; RoPE inside an autocast region; any length",
    dynamic_shapes=BY_LENGTH,
    also=((tokens(1, 3, seed=1),), (tokens(1, 40, seed=2),)),
    quick=True,
)
def llama() -> tuple[nn.Module, Inputs]:
    return decoder("Llama"), (tokens(1, 12),)


@model(
    "RoPE of Llama 3.1, eager attention, any batch and length",
    dynamic_shapes=(({0: BATCH, 1: LENGTH},),),
    also=((tokens(3, 9, seed=1),), (tokens(1, 17, seed=2),)),
)
def llama_3_1() -> tuple[nn.Module, Inputs]:
    rope = {
        "rope_type": "llama3",
        "rope_theta": 10000.0,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64,
    }
    settings = {"rope_parameters": rope, "attn_implementation": "eager"}
    return decoder("Llama", **settings), (tokens(2, 12),)


@model("bfloat16 (one layer: two differ by rounding alone)", dtype=torch.bfloat16)
def llama_bfloat16() -> tuple[nn.Module, Inputs]:
    return decoder("Llama", num_hidden_layers=1), (tokens(1, 12),)


@model("biases in the attention's projections", also=((tokens(1, 12, seed=1),),))
def qwen2() -> tuple[nn.Module, Inputs]:
    return decoder("Qwen2"), (tokens(1, 12),)


@model(
    "norms of queries and keys; any length",
    dynamic_shapes=BY_LENGTH,
    also=((tokens(1, 31, seed=1),),),
)
def qwen3() -> tuple[nn.Module, Inputs]:
    return decoder("Qwen3", head_dim=16), (tokens(1, 12),)


@model("gated linear attention beside full attention")
def qwen3_next() -> tuple[nn.Module, Inputs]:
    settings = {
        "head_dim": 16,
        "linear_num_value_heads": 4,
        "linear_num_key_heads": 2,
        "linear_key_head_dim": 16,
        "linear_value_head_dim": 16,
        "num_experts": 0,
        "layer_types": ["linear_attention", "full_attention"],
    }
    return decoder("Qwen3Next", **settings), (tokens(1, 12),)


@model("soft-capped logits, sliding windows in turn with full attention")
def gemma2() -> tuple[nn.Module, Inputs]:
    settings = {"head_dim": 16, "sliding_window": 4, "attn_implementation": "eager"}
    return decoder("Gemma2", **settings), (tokens(1, 12),)


@model("two RoPEs, one for windows and one for full attention", also=((tokens(1, 12, seed=1),),))
def gemma3() -> tuple[nn.Module, Inputs]:
    settings = {"head_dim": 16, "sliding_window": 4, "num_hidden_layers": 6}
    causal = transformers.Gemma3ForCausalLM(
        transformers.Gemma3TextConfig(**{**DECODER, **settings})
    )
    return Called(causal, "input_ids", "logits", use_cache=False), (tokens(1, 12),)


@model("experts chosen by a router (top-k, gather)", also=((tokens(1, 12, seed=1),),))
def mixtral() -> tuple[nn.Module, Inputs]:
    settings = {"num_local_experts": 4, "num_experts_per_tok": 2}
    return decoder("Mixtral", experts_implementation="batched_mm", **settings), (tokens(1, 12),)


@model("a learned table of positions, Conv1D projections", also=((tokens(2, 12, seed=1),),))
def gpt2() -> tuple[nn.Module, Inputs]:
    config = transformers.GPT2Config(vocab_size=100, n_positions=64, n_embd=32, n_layer=2, n_head=4)
    causal = transformers.GPT2LMHeadModel(config)
    return Called(causal, "input_ids", "logits", use_cache=False), (tokens(2, 12),)


@model("attention and MLP in parallel, partial RoPE")
def gpt_neox() -> tuple[nn.Module, Inputs]:
    return decoder("GPTNeoX"), (tokens(1, 12),)


@model("attention biased by distance (ALiBi)")
def bloom() -> tuple[nn.Module, Inputs]:
    config = transformers.BloomConfig(vocab_size=100, hidden_size=32, n_layer=2, n_head=4)
    causal = transformers.BloomForCausalLM(config)
    return Called(causal, "input_ids", "logits", use_cache=False), (tokens(1, 12),)


@model(
    "a padded batch, token types, pooling; any batch and length",
    dynamic_shapes=((({0: BATCH, 1: LENGTH}),) * 2,),
    also=((tokens(3, 9, seed=1), torch.tensor([[1] * 9, [1] * 4 + [0] * 5, [1] * 7 + [0] * 2])),),
)
def bert() -> tuple[nn.Module, Inputs]:
    bert = transformers.BertModel(transformers.BertConfig(**ENCODER))
    called = Called(bert, "input_ids attention_mask", "last_hidden_state pooler_output")
    return called, (tokens(2, 12), torch.tensor([[1] * 12, [1] * 8 + [0] * 4]))


@model("alternating windows, RoPE, gated MLP, no padding mask")
def modernbert() -> tuple[nn.Module, Inputs]:
    settings = {"num_hidden_layers": 4, "pad_token_id": 0, "local_attention": 8}
    config = transformers.ModernBertConfig(**{**ENCODER, **settings})
    modern = transformers.ModernBertForMaskedLM(config)
    return Called(modern, "input_ids", "logits"), (tokens(2, 12, high=99) + 1,)


@model("content and positions apart (disentangled attention)")
def deberta() -> tuple[nn.Module, Inputs]:
    settings = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8}
    config = transformers.DebertaV2Config(**ENCODER, **settings, max_relative_positions=16)
    return Called(transformers.DebertaV2Model(config), "input_ids", "last_hidden_state"), (
        tokens(2, 12),
    )


@model("a Fourier transform in place of attention")
def fnet() -> tuple[nn.Module, Inputs]:
    config = transformers.FNetConfig(
        vocab_size=100, hidden_size=32, intermediate_size=64, num_hidden_layers=2
    )
    return Called(transformers.FNetModel(config), "input_ids", "last_hidden_state"), (
        tokens(2, 16),
    )


@model(
    "relative positions in buckets, encoder and decoder; any length of the source",
    dynamic_shapes=(({1: LENGTH}, None),),
    also=((tokens(1, 21, seed=1), tokens(1, 7, seed=2)),),
    quick=True,
)
def t5() -> tuple[nn.Module, Inputs]:
    config = transformers.T5Config(
        vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, use_cache=False
    )
    t5 = transformers.T5ForConditionalGeneration(config)
    return Called(t5, "input_ids decoder_input_ids", "logits"), (
        tokens(1, 12),
        tokens(1, 7, seed=3),
    )


@model("encoder and decoder with learned positions and cross attention")
def bart() -> tuple[nn.Module, Inputs]:
    config = transformers.BartConfig(
        vocab_size=100,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=64,
        use_cache=False,
    )
    bart = transformers.BartModel(config)
    return Called(bart, "input_ids decoder_input_ids", "last_hidden_state"), (
        tokens(2, 12),
        tokens(2, 7, seed=3),
    )


@model("a selective scan, causal depthwise convolution")
def mamba() -> tuple[nn.Module, Inputs]:
    config = transformers.MambaConfig(
        vocab_size=100, hidden_size=32, state_size=8, num_hidden_layers=2, use_mambapy=False
    )
    return Called(transformers.MambaForCausalLM(config), "input_ids", "logits", use_cache=False), (
        tokens(1, 8),
    )


@model("a state-space scan in chunks (segment sums, cumulative sums)")
def mamba2() -> tuple[nn.Module, Inputs]:
    config = transformers.Mamba2Config(
        vocab_size=100,
        hidden_size=32,
        state_size=16,
        num_hidden_layers=2,
        num_heads=8,
        head_dim=8,
        n_groups=2,
        chunk_size=8,
        expand=2,
    )
    return Called(transformers.Mamba2ForCausalLM(config), "input_ids", "logits", use_cache=False), (
        tokens(1, 16),
    )


@model("short convolutions beside attention")
def lfm2() -> tuple[nn.Module, Inputs]:
    settings = {"layer_types": ["conv", "full_attention"]}
    return decoder("Lfm2", **settings), (tokens(1, 12),)


@model("several images' tokens read by learned queries (cross attention)")
def perceiver() -> tuple[nn.Module, Inputs]:
    config = transformers.PerceiverConfig(
        num_latents=8,
        d_latents=32,
        d_model=24,
        num_blocks=1,
        num_self_attends_per_block=2,
        num_self_attention_heads=4,
        num_cross_attention_heads=4,
    )
    perceiver = transformers.PerceiverModel(config)
    return Called(perceiver, "inputs", "last_hidden_state"), (noise(1, 20, 24),)
