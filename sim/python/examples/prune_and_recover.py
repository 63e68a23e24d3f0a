#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains two small networks in PyTorch, prunes them 2:4, recovers them by fine-tuning, exports and loads them again.

    PYTHONPATH=build/release/python sim/python/examples/prune_and_recover.py

The classifier learns the digits of traces/digits (UCI Machine Learning Repository, CC BY 4.0), the language model the
help texts that ship with Python (pydoc_data). Both take a minute; nothing is downloaded.
"""
import json
import math
import pathlib
import tempfile

import torch
from pydoc_data.topics import topics
from torch import nn
from torch.nn import functional

import sptcsim.torch

DIGITS = pathlib.Path(__file__).parents[3] / "traces" / "digits" / "mlp.safetensors"
TRAINED_DIGITS = 600  # of 899; the others test
CONTEXT = 64  # characters
SYMBOLS = 128  # ASCII


def read_digits():
    """Images [899, 64] and labels, in training and test parts."""
    raw = DIGITS.read_bytes()
    begin = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:begin])

    def tensor(name, dtype):
        first, last = header[name]["data_offsets"]
        return torch.frombuffer(bytearray(raw[begin + first:begin + last]), dtype=dtype).reshape(header[name]["shape"])

    x, y = tensor("x_test", torch.float16).float(), tensor("y_test", torch.uint8).long()
    return (x[:TRAINED_DIGITS], y[:TRAINED_DIGITS]), (x[TRAINED_DIGITS:], y[TRAINED_DIGITS:])


def read_text():
    """Characters of the help texts of Python, in training and test parts."""
    text = "\n".join(topics[name] for name in sorted(topics)).encode("ascii", "ignore")
    symbols = torch.frombuffer(bytearray(text), dtype=torch.uint8).long()
    return symbols[:-len(symbols) // 10], symbols[-len(symbols) // 10:]


class Block(nn.Module):
    """A layer of a transformer."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        values = scores.masked_fill(later, -math.inf).softmax(-1) @ v
        x = x + self.out(values.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class CharacterModel(nn.Module):
    """Scores of the next character."""

    def __init__(self, width=96, heads=4, layers=2):
        super().__init__()
        self.embed, self.position = nn.Embedding(SYMBOLS, width), nn.Embedding(CONTEXT, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm, self.lm_head = nn.LayerNorm(width), nn.Linear(width, SYMBOLS)

    def forward(self, symbols):
        places = torch.arange(symbols.shape[1], device=symbols.device)
        return self.lm_head(self.norm(self.blocks(self.embed(symbols) + self.position(places))))


def digit_batches(data, epochs, size=32):
    x, y = data
    for _ in range(epochs):
        for chosen in torch.randperm(len(x)).split(size):
            yield x[chosen], y[chosen]


def text_batches(symbols, steps, size=16):
    for _ in range(steps):
        first = torch.randint(len(symbols) - CONTEXT - 1, (size, 1)) + torch.arange(CONTEXT)
        yield symbols[first], symbols[first + 1]


def train(model, batches, rate, masked=False):
    """One step for each batch; `masked` keeps the zeros of pruned weights."""
    optimizer = torch.optim.AdamW(model.parameters(), rate)
    masks = sptcsim.torch.Masked(model, optimizer) if masked else None
    model.train()
    for x, y in batches:
        optimizer.zero_grad()
        functional.cross_entropy(model(x).flatten(0, -2), y.flatten()).backward()
        optimizer.step()
    model.eval()
    if masks:
        masks.remove()


@torch.no_grad()
def digits_right(model, data):
    """The share of digits that are recognised."""
    return (model(data[0]).argmax(1) == data[1]).double().mean().item()


@torch.no_grad()
def bits_per_character(model, symbols, windows=200):
    starts = torch.linspace(0, len(symbols) - CONTEXT - 1, windows).long().unsqueeze(1) + torch.arange(CONTEXT)
    loss = functional.cross_entropy(model(symbols[starts]).flatten(0, -2), symbols[starts + 1].flatten())
    return loss.item() / math.log(2)


def through_a_file(model, empty):
    """The weights of `model`, exported and read into `empty`."""
    with tempfile.TemporaryDirectory() as folder:
        sptcsim.torch.export(model, folder)
        return sptcsim.torch.load_(empty, folder)


def recover_digits(method="sparsegpt"):
    """Digits right of the dense, pruned, recovered and loaded network; the loaded one, and what prune_() returned."""
    def network():
        return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
    torch.manual_seed(0)
    data, test = read_digits()
    model = network()
    train(model, digit_batches(data, 60), 1e-3)
    right = [digits_right(model, test)]
    pruned = sptcsim.torch.prune_(model, calibration=data[0].split(100), method=method, permute="auto")
    right.append(digits_right(model, test))
    train(model, digit_batches(data, 30), 1e-3, masked=True)
    right.append(digits_right(model, test))
    loaded = through_a_file(model, network().eval())
    return right + [digits_right(loaded, test)], loaded, pruned


def recover_text(method="sparsegpt", steps=500):
    """Bits per character, likewise."""
    torch.manual_seed(0)
    data, test = read_text()
    model = CharacterModel()
    train(model, text_batches(data, steps), 2e-3)
    bits = [bits_per_character(model, test)]
    calibration = [x for x, _ in text_batches(data, 16)]
    pruned = sptcsim.torch.prune_(model, calibration, method=method, permute="auto")
    bits.append(bits_per_character(model, test))
    train(model, text_batches(data, steps // 2), 1e-3, masked=True)
    bits.append(bits_per_character(model, test))
    loaded = through_a_file(model, CharacterModel().eval())
    return bits + [bits_per_character(loaded, test)], loaded, pruned


def main():
    torch.set_num_threads(1)  # the matrices are small
    head = ("network", "dense", "pruned", "recovered", "loaded")
    print("{:20} {:>9} {:>9} {:>9} {:>9}".format(*head))
    for name, recover, form in (("digits right", recover_digits, "{:9.1%}"), ("bits per character", recover_text, "{:9.3f}")):
        figures, _, _ = recover()
        print(f"{name:20}", *map(form.format, figures))


if __name__ == "__main__":
    main()
