# SPDX-License-Identifier: Apache-2.0
"""sptcsim simulates dense and 2:4 sparse tensor cores: what bits come out, when, and at what cost.

Bits: mma, matmul, identify, step_rules, instructions, crosscheck, crosscheck_capture.
2:4 weights: prune, compress, decompress, permutation_search, Metadata, Compressed, legal; of models in files: prune_model,
plan_model, convert_model.
GPUs: load, architectures, Architecture.
Time and energy: gemm, run, compare, compare_saved, options, figures, energy, energies, energy_area.
Many runs: sweep, sweep_plan, sweep_status, sweep_merge, sweep_report, sweep_emit.
Workloads and measurements: load_workload, validate.
One instruction: show, microbench; test vectors: verify.
Searches in the space of a sweep: the module sptcsim.explore (front, sensitivity, hypercube).
PyTorch models: the module sptcsim.torch (record, simulated, prune_, to_sparse), which imports torch.
Errors are InputError (a ValueError): one sentence that names the argument, the value and what is allowed.
"""
import os as _os

from . import _core

_configs = _os.path.join(_os.path.dirname(_os.path.abspath(__file__)), "configs")
if _os.path.isdir(_configs):  # an installed package; a build tree reads those of the source tree
    _core.set_shipped_config_directory(_configs)

from ._architecture import Architecture, architectures, load
from ._commands import (compare, compare_saved, crosscheck_capture, energies, energy, energy_area, legal,
                        load_workload, microbench, plan_model, show, validate, verify)
from ._core import InputError, InternalError, __version__
from ._model_pruning import convert_model, permutation_search, prune_model
from ._record import Record
from ._simulation import GemmResult, Result, figures, gemm, options, run
from ._sparsity import Compressed, Metadata, compress, decompress, prune
from ._sweep import SweepResult, sweep, sweep_emit, sweep_merge, sweep_plan, sweep_report, sweep_status
from ._values import crosscheck, identify, instructions, matmul, mma, step_rules


def __getattr__(name):
    if name in ("explore", "torch"):
        import importlib
        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module 'sptcsim' has no attribute '{name}'")


__all__ = ["Architecture", "Compressed", "GemmResult", "InputError", "InternalError", "Metadata", "Record", "Result",
           "SweepResult", "__version__", "architectures", "compare", "compare_saved", "compress", "convert_model", "crosscheck",
           "crosscheck_capture", "decompress", "energies", "energy", "energy_area", "figures", "gemm",
           "identify", "instructions", "legal", "load", "load_workload", "matmul", "microbench", "mma", "options",
           "permutation_search", "plan_model", "prune", "prune_model", "run", "show", "step_rules", "sweep",
           "sweep_emit", "sweep_merge", "sweep_plan", "sweep_report", "sweep_status", "validate", "verify"]
