# SPDX-License-Identifier: Apache-2.0
"""Orders of channels in which 2:4 keeps more, and the check that the function of the model stays."""
import collections.abc

import torch
from torch.utils import _pytree

from .. import _checks
from .._core import InputError
from .._model_pruning import permutation_search
from . import _channels


def _rules(model, permute):
    """Lists of (name of a tensor, axis, whether that is k of a layer)."""
    words = [permute] if isinstance(permute, str) else permute
    if not isinstance(words, (list, tuple)):
        raise InputError(f"permute must be \"auto\", a rule or a list of rules, not {type(permute).__name__}")
    rules, tensors = [], _channels.tensors_of(model)
    for word in words:
        if _checks.word("permute", word) == "auto":
            rules += _channels.spaces_of(model)
            continue
        producers, equals, consumers = word.partition("=")
        rule = [(name.strip(), axis, axis == 1) for side, axis in ((producers, 0), (consumers, 1))
                for name in side.split(",")]
        if not equals:
            raise InputError(f"permute must be \"auto\" or a rule \"producer[,..]=consumer[,..]\", not '{word}'")
        _require_fit(word, rule, tensors)
        rules.append(rule)
    return rules, tensors


def _require_fit(word, rule, tensors):
    for name, axis, _ in rule:
        if name not in tensors:
            raise InputError(f"permute '{word}': the model has no tensor '{name}'")
        if tensors[name].dim() <= axis:
            raise InputError(f"permute '{word}': '{name}' has no axis {axis}")
    extents = {tensors[name].shape[axis] for name, axis, _ in rule}
    if len(extents) > 1:
        raise InputError(f"permute '{word}': its channels are {' and '.join(map(str, sorted(extents)))}")


def _reordered(tensors, moves):
    """Each axis in its order, in place."""
    with torch.no_grad():
        for rule, order in moves:
            for name, axis, _ in rule:
                tensor = tensors[name]
                tensor.copy_(tensor.index_select(axis, order.to(tensor.device)))


def _outputs(calibration):
    result = calibration.first()
    result = dict(result) if isinstance(result, collections.abc.Mapping) else result
    tensors = [value for value in _pytree.tree_flatten(result)[0] if isinstance(value, torch.Tensor)]
    return [value.detach().clone() for value in tensors if value.is_floating_point()]


def _difference(before, after):
    """The largest relative difference of two results, in units of what half the digits of their type resolve."""
    worst = 0.0
    for first, second in zip(before, after):
        allowed = torch.finfo(first.dtype).eps ** 0.5
        norm = first.double().norm().item()
        worst = max(worst, (second.double() - first.double()).norm().item() / (norm * allowed) if norm else 0.0)
    return worst


def permute_(model, layers, permute, calibration, seed):
    """Permutes channels of a model in place. Returns notes, and {layer: (magnitude kept before, after)}."""
    rules, tensors = _rules(model, permute)
    of_parameter = {layer.parameter: layer for layer in layers}
    moves, gains = [], {}
    for rule in rules:
        readers = [of_parameter[name] for name, _, is_k in rule if is_k and name in of_parameter]
        if not readers or readers[0].channels % 4:
            continue
        stacked = torch.cat([layer.matrix().float().cpu().reshape(-1, layer.channels) for layer in readers])
        order = torch.from_numpy(permutation_search(stacked.numpy(), seed))
        before, after = _kept(stacked), _kept(stacked[:, order])
        if after > before:
            moves.append((rule, order))
            gains.update({layer.name: (before, after) for layer in readers})
    if not moves:
        return ["permute: no channels are found whose order could change" if not rules else
                "permute: no better order of channels is found"], {}
    before = _outputs(calibration)
    if not before:
        raise InputError("permute needs a model that returns tensors of floating-point numbers, to check that they stay")
    _reordered(tensors, moves)
    if _difference(before, _outputs(calibration)) <= 1:
        return [], gains
    _reordered(tensors, [(rule, torch.argsort(order)) for rule, order in moves])
    if permute != "auto":
        raise InputError("permute: the rules change what the model computes; the model is as it was")
    return ["permute: the orders that were found change what the model computes, so it keeps its own"], {}


def _kept(matrix):
    """The share of the magnitude that 2:4 keeps."""
    groups = matrix.abs().double().reshape(-1, 4)
    total = groups.sum().item()
    return groups.topk(2, 1).values.sum().item() / total if total else 1.0
