# SPDX-License-Identifier: Apache-2.0
"""Masks that last while a model is trained."""
from __future__ import annotations

import torch

from .._core import InputError
from .._types import Any, Sequence
from . import _layers


class Masked:
    """Keeps the zeros of pruned weights while a model is trained.

        with sptcsim.torch.Masked(model, optimizer):
            train(model, optimizer)

    It masks the gradients of every weight that obeys `pattern`, also one that load_() read, and, after each step of the
    optimizer, the weights. Without an optimizer, or before torch 2.0, it masks gradients alone, and the weights at the
    end; optimizers whose state has begun at zero then leave the zeros. remove(), or the end of `with`, ends it.

    masks: {parameter: tensor of bool, True where a weight is trained}; a group with more zeros than it needs trains some
    of them. layers: names or patterns; None: all. Raises InputError where no layer obeys the pattern.
    """

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer | None = None, *, pattern: str = "2:4",
                 layers: str | Sequence[str] | None = None) -> None:
        wanted = _layers.names("layers", layers)
        found, obstacles = _layers.layers_of(_layers.require_model(model))
        self.masks: dict[str, torch.Tensor] = {}
        self._weights, self._gone, self._hooks = {}, {}, []
        for layer in found:
            if obstacles[layer.name] or (wanted is not None and not _layers.matches(layer.name, wanted)):
                continue
            mask = _layers.mask_of(layer, pattern)
            if mask is not None:
                self.masks[layer.parameter] = mask
                self._weights[layer.parameter], self._gone[layer.parameter] = layer.weight, ~mask
        if not self.masks:
            raise InputError(f"no layer obeys {pattern}; prune_() makes it so")
        for name, weight in self._weights.items():
            if weight.requires_grad:
                self._hooks.append(weight.register_hook(lambda gradient, name=name: self._masked(name, gradient)))
        if hasattr(optimizer, "register_step_post_hook"):
            self._hooks.append(optimizer.register_step_post_hook(lambda *_: self.apply()))

    def _gone_on(self, name, device):
        if self._gone[name].device != device:
            self._gone[name] = self._gone[name].to(device)
        return self._gone[name]

    def _masked(self, name, gradient):
        return gradient.masked_fill(self._gone_on(name, gradient.device), 0)

    def apply(self) -> None:
        """Sets to zero what the masks leave out."""
        with torch.no_grad():
            for name, weight in self._weights.items():
                weight.masked_fill_(self._gone_on(name, weight.device), 0)

    def remove(self) -> None:
        """Masks a last time and ends."""
        self.apply()
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def __enter__(self) -> Masked:
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()
