// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/space/parameter_effect.h"

#include "sim/config/architecture.h"
#include "sim/kernels/kernel_library_spec.h"
#include "sim/run/option_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace sptc::sweep::space {
namespace {

// The pipeline depths of an SM are below the resolution of the closed form.
constexpr std::array<std::string_view, 15> kEventsOnly{
    "/sm/issue_per_cycle",
    "/sm/barrier_latency_cycles",
    "/sm/shared_memory_latency_cycles",
    "/sm/shared_memory_wavefront_cycles",
    "/sm/tensor_core/operand_fetch_latency_cycles",
    "/sm/tensor_core/selector_latency_cycles",
    "/sm/tensor_core/multiply_latency_cycles",
    "/sm/tensor_core/align_add_latency_cycles",
    "/sm/tensor_core/round_latency_cycles",
    "/sm/tensor_core/write_back_latency_cycles",
    "/sm/tensor_core/same_warp_gap_cycles",
    "/sm/tensor_core/selector_change_cycles",
    "/sm/tensor_core/register_banks",
    "/sm/tensor_core/register_bank_bytes_per_cycle",
    "/sm/tensor_core/reuse_registers"};

// Of instructions for types that GEMM kernels do not take.
constexpr std::array<std::string_view, 2> kMicrobenchOnly{"/sm/tensor_core/f64_multipliers",
                                                          "/sm/tensor_core/sub_byte_extra_cycles"};

constexpr std::string_view kWgmmaInterval = "/sm/wgmma_interval_cycles";
constexpr std::string_view kTcgen05Interval = "/sm/tcgen05_interval_cycles";

bool has_effect_by_being_there(const SweepAxis& axis) {
  return std::find(axis.values.begin(), axis.values.end(), 0) != axis.values.end();
}

template <typename List>
bool contains(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Whether a point may have `option` at `value`.
bool may_be(const SweepSpec& spec, const std::string& option, std::string_view value,
            std::string_view usual) {
  for (const SweepAxis& axis : spec.axes) {
    if (axis.kind == SweepAxis::Kind::kOption && axis.target == option) {
      return std::any_of(axis.values.begin(), axis.values.end(),
                         [&](const auto& choice) { return run::option_text(choice) == value; });
    }
  }
  const auto found = spec.options.find(option);
  return (found == spec.options.end() ? usual : found->second) == value;
}

/// Whether a library of the sweep has a kernel that is made of `family`.
bool may_have(const SweepSpec& spec, mma::MmaFamily family) {
  return std::any_of(
      spec.architectures.begin(), spec.architectures.end(), [&](const SweepArchitecture& given) {
        const auto tiles = architecture_of(given).gpu.kernels.tiles;
        return std::any_of(tiles.begin(), tiles.end(),
                           [&](const kernels::TileShape& tile) { return tile.family == family; });
      });
}

}  // namespace

std::optional<std::string> why_ineffective(const SweepSpec& spec, const SweepAxis& axis) {
  const std::string& target = axis.target;
  const bool events = may_be(spec, "fidelity", "timing", "analytic") ||
                      may_be(spec, "fidelity", "datapath", "analytic");
  if (target == "/memory/dram_capacity_bytes") {
    return "what DRAM holds changes no time and no energy: 'run' says what does not fit";
  }
  if (contains(kMicrobenchOnly, target)) {
    return "no GEMM kernel is made of instructions for f64 or types below 8 bits; 'sptcsim "
           "microbench' measures them";
  }
  for (const auto& [interval, family] : {std::pair(kWgmmaInterval, mma::MmaFamily::kWgmma),
                                         std::pair(kTcgen05Interval, mma::MmaFamily::kTcgen05)}) {
    if (target == interval && !may_have(spec, family)) {
      return fmt::format("the GEMM library has no {} kernel", mma::name(family));
    }
  }
  if (!events &&
      (contains(kEventsOnly, target) || ((target == kWgmmaInterval || target == kTcgen05Interval) &&
                                         !has_effect_by_being_there(axis)))) {
    return "the closed form of the fidelity analytic does not know it";
  }
  if (target == "/sm/tensor_core/metadata_port_bytes_per_cycle" &&
      !may_be(spec, "variants", "sparse", "both") && !may_be(spec, "variants", "both", "both")) {
    return "dense weights have no metadata";
  }
  if (target == "/kernels/reduction_launch_us" && may_be(spec, "split-k", "1", "") &&
      spec.options.contains("split-k")) {
    return "the option split-k is 1: nothing is reduced";
  }
  return std::nullopt;
}

}  // namespace sptc::sweep::space
