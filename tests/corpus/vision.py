"""Models that see, from transformers."""

import torch
import transformers
from torch import nn
from torch.export import Dim

from corpus.registry import Called, Inputs, model, noise, tokens

ENCODER = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 32,
    "patch_size": 8,
}
BATCH = Dim("batch", min=1, max=8)


@model(
    "patches, a class token; any batch",
    dynamic_shapes=(({0: BATCH},),),
    also=((noise(4, 3, 32, 32, seed=1),),),
)
def vit() -> tuple[nn.Module, Inputs]:
    vit = transformers.ViTForImageClassification(transformers.ViTConfig(**ENCODER, num_labels=10))
    return Called(vit, "pixel_values", "logits"), (noise(2, 3, 32, 32),)


@model("float16", dtype=torch.float16)
def vit_float16() -> tuple[nn.Module, Inputs]:
    vit = transformers.ViTModel(transformers.ViTConfig(**ENCODER))
    return Called(vit, "pixel_values", "last_hidden_state"), (noise(1, 3, 32, 32),)


@model("pooling by attention with a learned query", also=((noise(1, 3, 32, 32, seed=1),),))
def siglip() -> tuple[nn.Module, Inputs]:
    siglip = transformers.SiglipVisionModel(transformers.SiglipVisionConfig(**ENCODER))
    called = Called(siglip, "pixel_values", "last_hidden_state pooler_output")
    return called, (noise(1, 3, 32, 32),)


@model("LayerScale; positions resized to another image size (bicubic)")
def dinov2() -> tuple[nn.Module, Inputs]:
    settings = {key: value for key, value in ENCODER.items() if key != "intermediate_size"}
    dino = transformers.Dinov2Model(transformers.Dinov2Config(**settings))
    return Called(dino, "pixel_values", "last_hidden_state"), (noise(1, 3, 48, 48),)


@model("shifted windows (roll), relative positions by table", quick=True)
def swin() -> tuple[nn.Module, Inputs]:
    config = transformers.SwinConfig(
        image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4
    )
    swin = transformers.SwinForImageClassification(config)
    return Called(swin, "pixel_values", "logits"), (noise(1, 3, 32, 32),)


@model("continuous positions by a small network, cosine attention")
def swinv2() -> tuple[nn.Module, Inputs]:
    config = transformers.Swinv2Config(
        image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4
    )
    swin = transformers.Swinv2Model(config)
    return Called(swin, "pixel_values", "last_hidden_state"), (noise(1, 3, 32, 32),)


@model("a ResNet's features, then boxes from learned queries")
def detr() -> tuple[nn.Module, Inputs]:
    backbone = transformers.ResNetConfig(
        embedding_size=16,
        hidden_sizes=[16, 32],
        depths=[1, 1],
        layer_type="basic",
        out_features=["stage2"],
    )
    config = transformers.DetrConfig(
        backbone_config=backbone,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        num_queries=6,
    )
    detr = transformers.DetrForObjectDetection(config)
    return Called(detr, "pixel_values", "logits pred_boxes"), (noise(1, 3, 64, 64),)


@model("a text and an image in one space; the end of text found by argmax")
def clip() -> tuple[nn.Module, Inputs]:
    text = {
        "vocab_size": 100,
        "max_position_embeddings": 16,
        "eos_token_id": 99,
        **{key: ENCODER[key] for key in ENCODER if key not in ("image_size", "patch_size")},
    }
    config = transformers.CLIPConfig(text_config=text, vision_config=ENCODER, projection_dim=16)
    clip = transformers.CLIPModel(config)
    words = tokens(2, 10, high=98)
    words[0, 7], words[1, 9] = 99, 99
    called = Called(clip, "input_ids pixel_values", "logits_per_image text_embeds image_embeds")
    return called, (words, noise(2, 3, 32, 32))


@model("depthwise convolutions, norms over channels", also=((noise(1, 3, 64, 64, seed=1),),))
def convnext() -> tuple[nn.Module, Inputs]:
    config = transformers.ConvNextConfig(depths=[1, 1, 2, 1], hidden_sizes=[8, 16, 24, 32])
    convnext = transformers.ConvNextForImageClassification(config)
    return Called(convnext, "pixel_values", "logits"), (noise(1, 3, 64, 64),)


@model("batch norms, max pooling; channels last")
def resnet() -> tuple[nn.Module, Inputs]:
    config = transformers.ResNetConfig(
        embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], layer_type="bottleneck"
    )
    resnet = transformers.ResNetForImageClassification(config)
    images = noise(1, 3, 64, 64).to(memory_format=torch.channels_last)
    return Called(resnet, "pixel_values", "logits"), (images,)


@model("inverted residuals, squeeze and excitation, hard shapes of padding")
def efficientnet() -> tuple[nn.Module, Inputs]:
    config = transformers.EfficientNetConfig(
        width_coefficient=0.25, depth_coefficient=0.25, image_size=64, hidden_dim=320
    )
    efficientnet = transformers.EfficientNetModel(config)
    return Called(efficientnet, "pixel_values", "last_hidden_state"), (noise(1, 3, 64, 64),)


@model("patches of patches: unfold and fold around a transformer")
def mobilevit() -> tuple[nn.Module, Inputs]:
    config = transformers.MobileViTConfig(
        image_size=64, hidden_sizes=[16, 24, 32], neck_hidden_sizes=[8, 8, 16, 16, 24, 32, 32]
    )
    mobilevit = transformers.MobileViTModel(config)
    return Called(mobilevit, "pixel_values", "last_hidden_state"), (noise(1, 3, 64, 64),)


@model("a pyramid of attention with reduced keys; upsampled class maps")
def segformer() -> tuple[nn.Module, Inputs]:
    config = transformers.SegformerConfig(
        depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 24, 32], decoder_hidden_size=16
    )
    segformer = transformers.SegformerForSemanticSegmentation(config)
    return Called(segformer, "pixel_values", "logits"), (noise(1, 3, 64, 64),)


@model("a dense head that fuses and resizes features of several layers")
def depth_anything() -> tuple[nn.Module, Inputs]:
    backbone = transformers.Dinov2Config(
        hidden_size=32,
        num_hidden_layers=4,
        num_attention_heads=4,
        image_size=56,
        patch_size=14,
        out_indices=[1, 2, 3, 4],
        apply_layernorm=True,
        reshape_hidden_states=False,
    )
    config = transformers.DepthAnythingConfig(
        backbone_config=backbone,
        reassemble_hidden_size=32,
        neck_hidden_sizes=[8, 16, 24, 32],
        fusion_hidden_size=16,
        head_hidden_size=8,
    )
    depth = transformers.DepthAnythingForDepthEstimation(config)
    return Called(depth, "pixel_values", "predicted_depth"), (noise(1, 3, 56, 56),)


@model("an image encoder with windows and relative positions, a mask decoder")
def sam() -> tuple[nn.Module, Inputs]:
    vision = {
        "hidden_size": 32,
        "output_channels": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "image_size": 64,
        "patch_size": 8,
        "window_size": 3,
        "global_attn_indexes": [1],
        "mlp_dim": 64,
        "num_pos_feats": 8,
    }
    prompt = {"hidden_size": 16, "image_size": 64, "patch_size": 8, "mask_input_channels": 4}
    decoder = {
        "hidden_size": 16,
        "mlp_dim": 32,
        "num_attention_heads": 2,
        "iou_head_hidden_dim": 16,
    }
    config = transformers.SamConfig(
        vision_config=vision, prompt_encoder_config=prompt, mask_decoder_config=decoder
    )
    called = Called(transformers.SamModel(config), "pixel_values input_points", "pred_masks")
    return called, (noise(1, 3, 64, 64), torch.tensor([[[[20.0, 30.0]]]]))
