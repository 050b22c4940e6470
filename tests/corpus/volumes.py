"""Segmentation of volumes, from monai."""

from monai.networks import nets
from torch import nn

from corpus.registry import Inputs, model, noise


@model("3-d convolutions, group norms, trilinear upsampling")
def segresnet() -> tuple[nn.Module, Inputs]:
    return nets.SegResNet(init_filters=8, blocks_down=(1, 1), blocks_up=(1,)), (
        noise(1, 1, 16, 16, 16),
    )


@model("a vision transformer over blocks of a volume, transposed 3-d convolutions")
def unetr() -> tuple[nn.Module, Inputs]:
    unetr = nets.UNETR(
        in_channels=1,
        out_channels=2,
        img_size=(32, 32, 32),
        feature_size=4,
        hidden_size=24,
        mlp_dim=48,
        num_heads=4,
    )
    return unetr, (noise(1, 1, 32, 32, 32),)


@model("shifted windows in three dimensions (tensors of rank 8)")
def swin_unetr() -> tuple[nn.Module, Inputs]:
    swin = nets.SwinUNETR(in_channels=1, out_channels=2, feature_size=12, depths=(1, 1, 1, 1))
    return swin, (noise(1, 1, 64, 32, 32),)


@model("instance norms, leaky ReLU, several heads")
def dynunet() -> tuple[nn.Module, Inputs]:
    dynunet = nets.DynUNet(
        spatial_dims=3,
        in_channels=1,
        out_channels=2,
        kernel_size=[3, 3, 3],
        strides=[1, 2, 2],
        upsample_kernel_size=[2, 2],
        filters=[4, 8, 16],
    )
    return dynunet, (noise(1, 1, 16, 16, 16),)


@model("dense blocks: features concatenated again and again")
def densenet() -> tuple[nn.Module, Inputs]:
    densenet = nets.DenseNet(
        spatial_dims=2,
        in_channels=1,
        out_channels=3,
        init_features=8,
        growth_rate=4,
        block_config=(2, 2),
    )
    return densenet, (noise(1, 1, 32, 32),)
