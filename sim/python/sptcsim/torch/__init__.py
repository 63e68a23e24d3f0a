# SPDX-License-Identifier: Apache-2.0
"""PyTorch models as workloads, and their matrix operations with the arithmetic of a tensor core.

record(model, *inputs): the GEMMs of a forward pass, as a workload that sptcsim.run() takes.
simulated(arch=..., sparse="2:4"): a context in which a model runs with the arithmetic of that tensor core.
Both see matmul, linear, bmm, einsum, attention and convolutions, whatever the model calls them by. torch is imported
with this module and by no other part of sptcsim.
"""
try:
    import torch as _torch  # noqa: F401
except ImportError:
    raise ImportError("sptcsim.torch needs the package torch, which is not installed") from None

from ._record import record
from ._simulated import Layers, simulated

__all__ = ["Layers", "record", "simulated"]
