"""All of the corpus, by name."""

from corpus import diffusion, language, policies, sound, stateful, vision, volumes
from corpus.registry import MODELS, Model

__all__ = [
    "MODELS",
    "Model",
    "diffusion",
    "language",
    "policies",
    "sound",
    "stateful",
    "vision",
    "volumes",
]
