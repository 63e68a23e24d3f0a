// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/check/kernel/error_bounds.h"
#include "sim/check/kernel/kernel_model.h"

#include <filesystem>
#include <string>

namespace sptc::check::kernel {

/// One GEMM of a user's kernel: what it read, what it returned, and what it is said to be.
struct KernelCase {
  std::string name;
  mma::Target target;
  KernelData data;
  KernelModel declared;
  Tolerance tolerance = {};
};

/// What a caller says beside a kernel file.
struct KernelChoice {
  std::string launch;             ///< of a .npz file; empty: its only one
  std::filesystem::path d;        ///< file with D, instead of the one that is named
  std::optional<int> entry = {};  ///< of the batch, instead of the one that is named
  // Instead of what the file says; empty: that.
  std::string arch = {}, instruction = {};
  std::string k_order = {};    ///< "split_k=3,reduction=tree": keys of "k_order"
  std::string tolerance = {};  ///< of parse_tolerance(); empty: equal bits alone
};

/// Reads a kernel file and the tensors that it names, relative to it: .npy, .npz or .safetensors.
///
///   {"schema": "sptcsim-kernel/0.1", "name": "spmm", "architecture": "A100", "instruction": "mma.sp.m16n8k32...",
///   "entry": 0,
///    "a": {"file": "a.npy"}, "metadata": {"file": "e.npy", "layout": "cutlass", "selector": 0},
///    "b": {"file": "b.npy", "order": "column"}, "d": {"file": "all.npz", "tensor": "d", "type": "f16"},
///    "k_order": {"split_k": 2, "reduction": "parallel", "tile_k": 64, "slices": "interleaved", "c": "epilogue"},
///    "epilogue": {"alpha": 0.5, "beta": 2, "bias": {"file": "bias.npy", "along": "m", "type": "f32"},
///                 "activation": "relu", "scale_a": 0.25, "scale_b": 1, "scale_d": 1}}
///
/// A .npz file of `--save-operands` is a kernel file, too: the array "<launch>.kernel" is its text, and tensors without
/// a file are in it. `entry` counts along the first axis of tensors with an axis more (a batch). Elements are taken as
/// raw bits of the type they stand for. Without a "type", D, C and the bias have that of the file where it names f32,
/// f16 or bf16; else D and C have the accumulator's, and the bias is f32. Instead of `instruction`: `types` {a, b,
/// accumulator} and `sparse`, for the deepest mma.sync of the architecture, or wgmma or tcgen05.mma where that lowers
/// fp8 to f16. A dense A under a sparse instruction must be legal, unless its `prune` is "magnitude". Throws
/// InputError.
KernelCase read_kernel_file(const std::filesystem::path& path, const KernelChoice& choice = {});

/// The same from text; files are looked for in `directory`.
KernelCase parse_kernel_file(std::string_view text, const std::string& file, const std::filesystem::path& directory,
                             const KernelChoice& choice = {});

}  // namespace sptc::check::kernel
