# SPDX-License-Identifier: Apache-2.0
"""Pruning of a model in place."""
from __future__ import annotations

import torch

from .. import _checks, _core
from .._core import InputError
from .._types import Any, Callable, Sequence
from . import _calibration, _layers, _permute

_METHODS = ("magnitude", "wanda", "sparsegpt")


class Pruned(_layers.LayerTable):
    """What prune_() did: rows(), to_pandas(), or one layer by its name: pruned["fc1"].energy_kept.

    A record has name, parameter, rows, k, and either `skipped`, why the layer stays as it was, or energy_kept and
    magnitude_kept, the shares of the sums of squares and of magnitudes that stay; of method "sparsegpt" output_error,
    ||X W' - X W|| / ||X W|| of the calibration inputs X; where channels were permuted, permuted_magnitude, the share of
    the magnitude that 2:4 keeps [before, after].
    masks: {parameter: tensor of bool, True where a weight stays}. notes: one sentence each.
    """
    _columns = ("name", "rows", "k", "energy_kept", "magnitude_kept", "output_error", "skipped")

    def __init__(self, rows, masks, notes):
        self._rows, self.masks, self.notes = rows, masks, notes

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each layer, in the order of the model."""
        return self._rows


def _skipped(layer, obstacle, group, layers, skip):
    """Why a layer stays as it is; "" where it is pruned."""
    if _layers.matches(layer.name, skip):
        return "skip"
    if layers is not None and not _layers.matches(layer.name, layers):
        return "not among layers"
    role = _core.dense_role(layer.parameter) if layers is None else ""
    if obstacle or role:
        return obstacle or f"{role} by its name (layers prunes it)"
    if layer.weight.numel() == 0:
        return "it has no element"
    return f"k = {layer.channels} is no multiple of {group}" if layer.channels % group else ""


def _passes(layers, whole, memory):
    """Lists of layers whose sums fit `memory` bytes together, one at least."""
    passes, used = [], 0
    for layer in layers:
        k = layer.matrix().shape[1]
        size = 4 * layer.groups * (k * k if whole else k)
        if not passes or used + size > memory:
            passes.append([])
            used = 0
        passes[-1].append(layer)
        used += size
    return passes


def _prune_layer(layer, sums, method, pattern):
    """Prunes one weight. Returns its mask and figures."""
    whole = method == "sparsegpt"
    matrix = layer.matrix().float()
    parts, masks, lost, total = [], [], 0.0, 0.0
    for part, sum_ in zip(matrix.chunk(layer.groups), sums):
        inputs = None if sum_ is None else _calibration.stand_in(layer.name, sum_, whole)
        pruned, mask = _layers.pruned_matrix(layer, part, inputs, method, pattern)
        parts.append(torch.from_numpy(pruned).to(matrix.device))
        masks.append(torch.from_numpy(mask.astype(bool)).to(matrix.device))
        if whole:
            change = part - parts[-1]
            lost += ((change @ sum_) * change).sum().item()
            total += ((part @ sum_) * part).sum().item()
    mask = torch.cat(masks)
    kept, size = matrix * mask, matrix.abs().double().sum().item()
    energy = matrix.double().square().sum().item()
    figures = {"energy_kept": kept.double().square().sum().item() / energy if energy else 1.0,
               "magnitude_kept": kept.abs().double().sum().item() / size if size else 1.0}
    if whole:
        figures["output_error"] = (max(lost, 0.0) / total) ** 0.5 if total > 0 else 0.0
    mask = layer.tensor(mask).contiguous()
    with torch.no_grad():
        if whole:
            layer.weight.copy_(layer.tensor(torch.cat(parts)))
        layer.weight.masked_fill_(~mask, 0)
    return mask, figures


def _chosen(model, pattern, layers, skip):
    """The layers to prune, and a row for every layer by its name."""
    group = _core.group_of(_checks.word("pattern", pattern))
    layers, skip = _layers.names("layers", layers), _layers.names("skip", skip)
    found, obstacles = _layers.layers_of(_layers.require_model(model))
    for argument, patterns in (("layers", layers or ()), ("skip", skip)):
        for wanted in patterns:
            if not any(_layers.matches(layer.name, [wanted]) for layer in found):
                raise InputError(f"{argument}: the model has no layer '{wanted}'; there are "
                                 f"{', '.join(layer.name for layer in found[:8])}{', ...' if len(found) > 8 else ''}")
    rows, chosen = {}, []
    for layer in found:
        rows_and_k = layer.matrix().shape if layer.weight.numel() else layer.weight.shape[:2]
        rows[layer.name] = {"name": layer.name, "parameter": layer.parameter, "rows": rows_and_k[0], "k": rows_and_k[1]}
        reason = _skipped(layer, obstacles[layer.name], group, layers, skip)
        if reason:
            rows[layer.name]["skipped"] = reason
        else:
            chosen.append(layer)
    if not chosen:
        reason = next((f": '{row['name']}': {row['skipped']}" for row in rows.values()), "")
        raise InputError(f"the model has no layer that can be pruned to {pattern}{reason}")
    return chosen, rows


def prune_(model: torch.nn.Module, calibration: Any = None, *, method: str = "magnitude", pattern: str = "2:4",
           permute: str | Sequence[str] | None = None, layers: str | Sequence[str] | None = None,
           skip: str | Sequence[str] = (), forward: Callable[..., Any] | None = None, memory: float = 4e9,
           seed: int = 0) -> Pruned:
    """Prunes the weights of a model in place, to zeros in the pattern that sparse tensor cores execute.

        pruned = sptcsim.torch.prune_(model, calibration=loader, method="sparsegpt", permute="auto")

    Weights are those of Linear, Conv1d to Conv3d, MultiheadAttention and the Conv1D of transformers, along their input
    features or channels. Heads, embeddings and routers stay dense by their names, as with `sptcsim prune`.

    calibration: batches, such as a DataLoader; a batch is the input of the model, a dict of arguments, or a list whose
        first element is the input. forward: a function of (model, batch) for other batches. The model runs as for
        evaluation; inputs are taken where PyTorch multiplies them by a weight, and only sums over them are kept.
    method: "magnitude"; "wanda", which weighs with the norms of inputs; "sparsegpt", in which the weights that stay make
        up for those that go. pattern: "2:4", "1:2", "6:8", "64:2:8", ...
    permute: "auto" puts channels in an order in which 2:4 keeps more, where torch.fx shows what else must be; rules
        "producer[,..]=consumer[,..]" of names in state_dict(), as `sptcsim prune --permute` has them; or both in a list.
        The first batch shows that the model computes what it did, up to rounding; orders that change it are undone.
    layers, skip: names, or patterns such as "encoder.*", of what to prune and what not; layers also overrules names.
    memory: bytes of Hessians (of "sparsegpt", 4 k^2 each) at a time. Layers beyond it wait for another pass over
        `calibration`, which sees the ones before them pruned; 0 makes one pass for each layer.
    seed: of the search for an order.
    Returns Pruned. Raises InputError.
    """
    if method not in _METHODS:
        raise InputError(f"method must be {', '.join(_METHODS[:-1])} or {_METHODS[-1]}, not {method!r}")
    _checks.function("forward", forward)
    chosen, rows = _chosen(model, pattern, layers, skip)
    if calibration is None and (method != "magnitude" or permute):
        what = f"method {method!r}" if method != "magnitude" else "permute"
        raise InputError(f"{what} needs calibration, batches that the model is run on")
    batches = None if calibration is None else _calibration.Calibration(model, calibration, forward)
    if permute and pattern != "2:4":
        raise InputError(f"permute is for the pattern 2:4, not {pattern}")
    notes = []
    if permute:
        notes, gains = _permute.permute_(model, chosen, permute, batches, _checks.integer("seed", seed, 0, 2**63 - 1))
        for name, kept in gains.items():
            rows[name]["permuted_magnitude"] = list(kept)
    masks = {}
    whole = method == "sparsegpt"
    for together in [chosen] if method == "magnitude" else _passes(chosen, whole, memory):
        sums = {} if method == "magnitude" else batches.sums(together, whole)
        for layer in together:
            of_layer = sums.pop(layer.name, [None] * layer.groups)
            if method != "magnitude" and any(sum_ is None for sum_ in of_layer):
                rows[layer.name]["skipped"] = "no input of the calibration reaches it"
                continue
            masks[layer.parameter], figures = _prune_layer(layer, of_layer, method, pattern)
            rows[layer.name].update(figures)
    return Pruned(list(rows.values()), masks, notes)
