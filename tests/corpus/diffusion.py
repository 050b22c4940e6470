"""Denoisers and autoencoders, from diffusers."""

import diffusers
import torch
from torch import nn
from torch.export import Dim

from corpus.registry import Called, Inputs, model, noise

BATCH = Dim("batch", min=1, max=8)


@model("residual blocks with time embeddings, attention at one scale", quick=True)
def unet2d() -> tuple[nn.Module, Inputs]:
    unet = diffusers.UNet2DModel(
        sample_size=16,
        block_out_channels=(8, 16),
        layers_per_block=1,
        norm_num_groups=4,
        attention_head_dim=4,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )
    return Called(unet, "sample timestep", "sample"), (noise(1, 3, 16, 16), torch.tensor(7))


@model(
    "cross attention to a text at every scale; any batch",
    dynamic_shapes=(({0: BATCH}, None, {0: BATCH}),),
    also=((noise(3, 4, 16, 16, seed=1), torch.tensor(9), noise(3, 5, 16, seed=2)),),
)
def stable_diffusion_unet() -> tuple[nn.Module, Inputs]:
    unet = diffusers.UNet2DConditionModel(
        sample_size=16,
        block_out_channels=(8, 16),
        layers_per_block=1,
        norm_num_groups=4,
        attention_head_dim=4,
        cross_attention_dim=16,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    )
    inputs = (noise(2, 4, 16, 16), torch.tensor(7), noise(2, 5, 16, seed=1))
    return Called(unet, "sample timestep encoder_hidden_states", "sample"), inputs


@model("a transformer over patches, norms modulated by time and class")
def dit() -> tuple[nn.Module, Inputs]:
    dit = diffusers.DiTTransformer2DModel(
        num_attention_heads=4,
        attention_head_dim=8,
        in_channels=4,
        out_channels=4,
        num_layers=2,
        sample_size=8,
        patch_size=2,
        num_embeds_ada_norm=10,
        norm_num_groups=4,
    )
    inputs = (noise(1, 4, 8, 8), torch.tensor([7]), torch.tensor([3]))
    return Called(dit, "hidden_states timestep class_labels", "sample"), inputs


@model("text and image tokens in one attention, two streams of weights")
def stable_diffusion_3() -> tuple[nn.Module, Inputs]:
    sd3 = diffusers.SD3Transformer2DModel(
        sample_size=8,
        patch_size=2,
        in_channels=4,
        out_channels=4,
        num_layers=2,
        attention_head_dim=8,
        num_attention_heads=4,
        joint_attention_dim=16,
        caption_projection_dim=32,
        pooled_projection_dim=16,
        pos_embed_max_size=8,
    )
    inputs = (noise(1, 4, 8, 8), noise(1, 5, 16, seed=1), noise(1, 16, seed=2), torch.tensor([7.0]))
    names = "hidden_states encoder_hidden_states pooled_projections timestep"
    return Called(sd3, names, "sample"), inputs


@model("encoder and decoder of images: group norms, upsampling by nearest neighbour")
def autoencoder_kl() -> tuple[nn.Module, Inputs]:
    vae = diffusers.AutoencoderKL(
        block_out_channels=(8, 16),
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=4,
        norm_num_groups=4,
        sample_size=16,
    )
    return Called(vae, "sample", "sample"), (noise(1, 3, 16, 16),)


@model("a video's frames: convolutions over space, then over time")
def autoencoder_temporal() -> tuple[nn.Module, Inputs]:
    vae = diffusers.AutoencoderKLTemporalDecoder(
        block_out_channels=(32, 32),
        down_block_types=("DownEncoderBlock2D",) * 2,
        latent_channels=4,
        sample_size=16,
    )
    return Called(vae, "sample", "sample", num_frames=2), (noise(2, 3, 16, 16),)
