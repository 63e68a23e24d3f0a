// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/build_memory.h"

#include "models/base/error.h"
#include "sim/base/cache_tags.h"
#include "sim/io/memory_guard.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

namespace sptc::gpu {
namespace {

/// What asks for memory, and how much of it all SMs take [bytes].
struct Part {
  std::string fields;
  double bytes;
};

/// Bytes that the modules and tables of each part take on the heap
/// (tests/unit/sim/gpu/build_memory_test.cpp).
std::array<Part, 6> parts_of(const GpuSpec& spec) {
  constexpr double kSm = 32 << 10, kSubPartition = 60 << 10;
  constexpr double kWarpSlot = 600, kCtaSlot = 96, kBank = 32, kTagsOfBlock = 21;
  const sm::SmSpec& sm = spec.sm;
  const double sms = spec.sms;
  const double partitions = sms * sm.sub_partitions;
  const auto tags = [](base::Bytes capacity) {
    return kTagsOfBlock * static_cast<double>(capacity.count() / base::CacheTags::kBlockBytes);
  };
  return {
      {{fmt::format("/sms {}", spec.sms), sms * kSm},
       {fmt::format("/sms {} and /sm/sub_partitions {}", spec.sms, sm.sub_partitions), partitions * kSubPartition},
       {fmt::format("/sms {} and /sm/l1_and_shared_memory_bytes {}", spec.sms, sm.l1_and_shared_memory.count()),
        sms * tags(sm.l1_and_shared_memory)},
       {fmt::format("/sms {}, /sm/max_warps {} and /sm/max_ctas {}", spec.sms, sm.max_warps, sm.max_ctas),
        sms * (sm.max_warps * kWarpSlot + sm.max_ctas * kCtaSlot)},
       {fmt::format("/sms {}, /sm/sub_partitions {} and /sm/tensor_core/register_banks {}", spec.sms, sm.sub_partitions,
                    sm.tensor_core.register_banks),
        partitions * sm.tensor_core.register_banks * kBank},
       {fmt::format("/memory/l2_capacity_bytes {}", spec.memory.l2_capacity.count()), tags(spec.memory.l2_capacity)}}};
}

double sum_of(const std::array<Part, 6>& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0,
                         [](double sum, const Part& part) { return sum + part.bytes; });
}

}  // namespace

std::uint64_t memory_to_build(const GpuSpec& spec) {
  return static_cast<std::uint64_t>(sum_of(parts_of(spec)));
}

void require_memory_to_build(const GpuSpec& spec) {
  constexpr double kMost = 4.0 * (1 << 30);  // an H100 takes 0.05 GiB
  const std::array<Part, 6> parts = parts_of(spec);
  const double bytes = sum_of(parts);
  const Part& largest =
      *std::max_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.bytes < b.bytes; });
  const std::string what = fmt::format("building '{}' with {}", io::printable(spec.name), largest.fields);
  if (bytes > kMost) {
    throw base::InputError(
        fmt::format("{}: needs {:.1f} GiB of memory, more than the {:.0f} GiB that a design may take", what,
                    bytes / (1 << 30), kMost / (1 << 30)));
  }
  io::require_memory(static_cast<std::uint64_t>(bytes), what);
}

}  // namespace sptc::gpu
