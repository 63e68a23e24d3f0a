// SPDX-License-Identifier: Apache-2.0
#include "sim/run/capacity.h"

#include "models/sparsity/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace sptc::run {
namespace {

constexpr double kBitsPerByte = 8;
constexpr double kGib = 1 << 30;

/// Elements of A in all launches: each has weights, or keys and values, of its own.
double elements_of_a(const workload::Operation& op) {
  return static_cast<double>(op.count) * static_cast<double>(op.batch) *
         static_cast<double>(op.shape.m) * static_cast<double>(op.shape.k);
}

/// Bytes of an element of the weight, of 2:4 ones with their metadata.
double bytes_of_weight(const workload::Operation& op, bool sparse, const RunOptions& options) {
  const int bits = op.storage.a_bits(numerics::storage_bits(op.dtype));
  const auto scales = static_cast<double>(op.storage.scale_bits(true, op.shape.k)) /
                      static_cast<double>(op.shape.k);
  if (!sparse) {
    return (bits + scales) / kBitsPerByte;
  }
  const sparsity::Pattern pattern =
      options.pattern ? options.pattern->pattern : sparsity::hardware_pattern(op.dtype);
  return (static_cast<double>(bits * pattern.kept + pattern.metadata_bits()) / pattern.group +
          scales) /
         kBitsPerByte;
}

struct Footprint {
  double dense = 0, sparse = 0, cache = 0;  ///< bytes of weights, and of keys and values
};

Footprint footprint_of(const std::vector<workload::Operation>& operations,
                       const std::vector<workload::VectorOperation>& vectors,
                       const RunOptions& options) {
  const bool has_cache =
      std::any_of(vectors.begin(), vectors.end(), [](const workload::VectorOperation& op) {
        return op.kind == workload::VectorKind::kKvAppend;
      });
  Footprint result;
  for (const workload::Operation& op : operations) {
    if (op.weight) {
      result.dense += elements_of_a(op) * bytes_of_weight(op, false, options);
      result.sparse += elements_of_a(op) * bytes_of_weight(op, op.prunable, options);
    } else if (has_cache) {
      result.cache += elements_of_a(op) * numerics::storage_bits(op.dtype) / kBitsPerByte;
    }
  }
  return result;
}

/// "at least 2 such boards (--tp 2)".
std::string boards_needed(double bytes, double capacity) {
  constexpr std::uint64_t kMostGpus = 8;  // of --tp
  const auto boards = static_cast<std::uint64_t>(std::ceil(bytes / capacity));
  const std::uint64_t gpus = std::bit_ceil(boards);
  return fmt::format("at least {} such boards{}", boards,
                     gpus <= kMostGpus ? fmt::format(" (--tp {})", gpus) : "");
}

}  // namespace

std::string does_not_fit(const workload::Workload& workload,
                         const std::vector<workload::Operation>& operations,
                         const std::vector<workload::VectorOperation>& vectors,
                         const RunOptions& options, const gpu::GpuSpec& gpu) {
  const auto capacity = static_cast<double>(gpu.memory.dram_capacity.count());
  if (capacity == 0 || workload.inputs == 0) {
    return "";  // a list of launches does not say which of them share a weight
  }
  const Footprint bytes = footprint_of(operations, vectors, options);
  const bool has_sparse =
      options.variants != Variants::kDense && gpu.sm.tensor_core.selector_inputs > 1;
  const bool has_dense = options.variants != Variants::kSparse || !has_sparse;
  const double dense = bytes.dense + bytes.cache, sparse = bytes.sparse + bytes.cache;
  const bool dense_fits = !has_dense || dense <= capacity;
  const bool sparse_fits = !has_sparse || sparse <= capacity;
  if (dense_fits && sparse_fits) {
    return "";
  }
  const int gpus = options.tensor_parallel;
  std::string text = fmt::format("does not fit the {:.0f} GiB of {}{}: ", capacity / kGib,
                                 gpus > 1 ? fmt::format("each of {} ", gpus) : "", gpu.name);
  const auto add = [&](const char* weights, double of_weights, double all) {
    text += fmt::format(
        "{} weights take {:.0f} GiB{}, {}; ", weights, of_weights / kGib,
        bytes.cache > 0 ? fmt::format(", keys and values {:.1f}", bytes.cache / kGib) : "",
        all > capacity ? boards_needed(gpus * all, capacity) : "which fit");
  };
  if (has_dense) {
    add("dense", bytes.dense, dense);
  }
  if (has_sparse && bytes.sparse < bytes.dense) {
    add("2:4", bytes.sparse, sparse);
  }
  return text + "the figures are those of a board that had the room";
}

}  // namespace sptc::run
