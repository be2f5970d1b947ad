"""A tiny language model of Hugging Face, made from a configuration, and data for it."""

from __future__ import annotations

import torch
from transformers import GPT2Config, GPT2LMHeadModel

WORDS, LENGTH = 11, 6


def make_model(seed=0):
    """Return a model with random weights, whose output layer is tied to its embedding."""
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=WORDS,
        n_positions=LENGTH,
        n_embd=8,
        n_layer=1,
        n_head=2,
        bos_token_id=0,
        eos_token_id=0,
    )
    return GPT2LMHeadModel(config)


def make_texts(number):
    """Return texts in which each word is the next one of the vocabulary."""
    random = torch.Generator().manual_seed(1)
    first = torch.randint(WORDS, (number, 1), generator=random)
    texts = (first + torch.arange(LENGTH)) % WORDS
    return [{"input_ids": text, "labels": text} for text in texts]
