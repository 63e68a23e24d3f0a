// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/sm/occupancy.h"

#include "models/base/error.h"
#include "models/base/shape.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sptc::sm {
namespace {

constexpr std::int64_t kThreadsPerWarp = 32;
constexpr std::int64_t kRegisterUnit = 256;  // per warp

std::int64_t by_registers(std::int64_t warps, const CtaResources& cta, const SmSpec& sm) {
  const std::int64_t of_warp = base::round_up(kThreadsPerWarp * std::max(1, cta.registers_per_thread), kRegisterUnit);
  const std::int64_t per_partition = sm.registers / sm.sub_partitions / of_warp;
  return per_partition * sm.sub_partitions / warps;
}

}  // namespace

std::vector<base::Bytes> carve_outs(const SmSpec& sm) {
  constexpr std::array<std::int64_t, 10> kSizes{0, 8, 16, 32, 64, 100, 132, 164, 196, 228};
  std::vector<base::Bytes> sizes;
  for (const std::int64_t kib : kSizes) {
    if (kib * 1024 < sm.shared_memory.count()) {
      sizes.emplace_back(kib * 1024);
    }
  }
  sizes.push_back(sm.shared_memory);
  return sizes;
}

Occupancy occupancy(const CtaResources& cta, const SmSpec& sm) {
  base::ensure(cta.threads > 0, "a CTA without threads");
  // Every CTA begins on the first sub-partition: slots that its last round of warps leaves on the
  // others stay empty.
  const std::int64_t warps =
      base::round_up(base::ceil_div(cta.threads, kThreadsPerWarp), std::int64_t{sm.sub_partitions});
  const std::int64_t shared = base::round_up(cta.shared_memory.count() + sm.reserved_shared_memory_per_cta.count(),
                                             std::max<std::int64_t>(1, sm.shared_memory_allocation_unit.count()));
  const std::array<std::pair<std::int64_t, std::string_view>, 4> limits{
      {{by_registers(warps, cta, sm), "registers"},
       {shared > 0 ? sm.shared_memory.count() / shared : sm.max_ctas, "shared memory"},
       {sm.max_warps / warps, "warps"},
       {sm.max_ctas, "CTAs"}}};
  const auto least =
      std::min_element(limits.begin(), limits.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Occupancy result;
  result.ctas = static_cast<int>(least->first);
  result.limited_by = least->second;
  const base::Bytes used(result.ctas * shared);
  for (const base::Bytes& size : carve_outs(sm)) {
    result.carve_out = size;
    if (size.count() >= used.count()) {
      break;
    }
  }
  return result;
}

}  // namespace sptc::sm
