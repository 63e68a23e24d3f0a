# SPDX-License-Identifier: Apache-2.0
"""PyTorch models as workloads, and their matrix operations with the arithmetic of a tensor core.

record(model, *inputs): the GEMMs of a forward pass, as a workload that sptcsim.run() takes.
simulated(arch=..., sparse="2:4"): a context in which a model runs with the arithmetic of that tensor core.
prune_(model, calibration=..., method=...): weights in the 2:4 pattern, in place; Masked keeps it through training.
export(model, path), load_(model, path): .safetensors files; to_sparse(model): layers with compressed weights.
crosscheck(kernel, layer, inputs): why and where a kernel of yours differs from a layer, bit for bit.
record, simulated and prune_ see products where PyTorch dispatches them (matmul, linear, bmm, einsum, attention,
convolutions), whatever the model calls them by. torch is imported with this module and by no other part of sptcsim.
"""
try:
    import torch as _torch  # noqa: F401
except ImportError:
    raise ImportError("sptcsim.torch needs the package torch, which is not installed") from None

from ._checkpoint import export, load_
from ._crosscheck import crosscheck
from ._masked import Masked
from ._prune import Pruned, prune_
from ._record import record
from ._simulated import Layers, simulated
from ._sparse import CompressedLinear, to_sparse

__all__ = ["CompressedLinear", "Layers", "Masked", "Pruned", "crosscheck", "export", "load_", "prune_", "record", "simulated",
           "to_sparse"]
