"""Models of speech and of time series, from transformers."""

import transformers
from torch import nn

from corpus.registry import Called, Inputs, model, noise, tokens

LAYERS = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
}


@model("log-mel frames to text: 1-d convolutions, cross attention", quick=True)
def whisper() -> tuple[nn.Module, Inputs]:
    config = transformers.WhisperConfig(
        **LAYERS,
        vocab_size=100,
        num_mel_bins=16,
        max_source_positions=40,
        max_target_positions=16,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        use_cache=False,
    )
    whisper = transformers.WhisperForConditionalGeneration(config)
    called = Called(whisper, "input_features decoder_input_ids", "logits")
    return called, (noise(1, 16, 80), tokens(1, 6))


@model("raw samples: strided convolutions, weight norm, positions by grouped convolution")
def wav2vec2() -> tuple[nn.Module, Inputs]:
    config = transformers.Wav2Vec2Config(
        vocab_size=32,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        conv_dim=(16, 16, 16),
        conv_kernel=(10, 3, 2),
        conv_stride=(5, 2, 2),
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=4,
        num_feat_extract_layers=3,
    )
    return Called(transformers.Wav2Vec2ForCTC(config), "input_values", "logits"), (noise(1, 1600),)


@model("convolution modules between attention, relative keys", also=((noise(1, 40, 16, seed=1),),))
def wav2vec2_bert() -> tuple[nn.Module, Inputs]:
    config = transformers.Wav2Vec2BertConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        feature_projection_input_dim=16,
        conv_depthwise_kernel_size=7,
    )
    bert = transformers.Wav2Vec2BertModel(config)
    return Called(bert, "input_features", "last_hidden_state"), (noise(1, 40, 16),)


@model("spectrogram patches")
def audio_spectrogram_transformer() -> tuple[nn.Module, Inputs]:
    config = transformers.ASTConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_length=64,
        num_mel_bins=16,
        patch_size=8,
        frequency_stride=4,
        time_stride=4,
    )
    ast = transformers.ASTModel(config)
    return Called(ast, "input_values", "last_hidden_state"), (noise(1, 64, 16),)


@model("a series cut in patches, scaled by its own mean and deviation", quick=True)
def patchtst() -> tuple[nn.Module, Inputs]:
    config = transformers.PatchTSTConfig(
        num_input_channels=3,
        context_length=32,
        prediction_length=8,
        patch_length=8,
        patch_stride=4,
        d_model=32,
        num_attention_heads=4,
        num_hidden_layers=2,
        ffn_dim=64,
        scaling="std",
    )
    series = transformers.PatchTSTForPrediction(config)
    return Called(series, "past_values", "prediction_outputs"), (noise(2, 32, 3),)


@model("mixing along patches, time and channels, no attention")
def patchtsmixer() -> tuple[nn.Module, Inputs]:
    config = transformers.PatchTSMixerConfig(
        context_length=32,
        prediction_length=8,
        patch_length=8,
        patch_stride=8,
        num_input_channels=3,
        d_model=16,
        num_layers=2,
    )
    series = transformers.PatchTSMixerForPrediction(config)
    return Called(series, "past_values", "prediction_outputs"), (noise(2, 32, 3),)
