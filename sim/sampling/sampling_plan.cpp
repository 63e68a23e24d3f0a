// SPDX-License-Identifier: Apache-2.0
#include "sim/sampling/sampling_plan.h"

#include "sim/memory/owning_partition.h"

#include <algorithm>
#include <optional>

namespace sptc::sampling {
namespace {

constexpr int kMostSampled = 8;
// Instructions of the tensor cores of all simulated SMs, a few milliseconds of the host.
constexpr std::int64_t kInstructions = 8192;

/// The first of the `with_ctas` SMs, from `from` on and around, that asks `partition` of the L2 and
/// is not taken; nothing where none is left.
std::optional<int> next_of_partition(int partition, int partitions, int from, int with_ctas,
                                     const std::vector<int>& taken) {
  for (int step = 0; step < with_ctas; ++step) {
    const int sm = (from + step) % with_ctas;
    if (memory::partition_of_sm(sm, partitions) == partition &&
        std::find(taken.begin(), taken.end(), sm) == taken.end()) {
      return sm;
    }
  }
  return std::nullopt;
}

}  // namespace

SamplingPlan::SamplingPlan(const kernels::GemmKernel& kernel, const kernels::KernelTarget& gpu,
                           SimulatedSms simulated, bool extrapolate)
    : kernel_(kernel),
      sms_of_gpu_(gpu.sms),
      partitions_(gpu.memory.l2_partitions),
      simulated_(simulated),
      extrapolate_(extrapolate),
      sms_(choose_sms()) {}

int SamplingPlan::sms_built(std::int64_t sms, SimulatedSms simulated) {
  const auto all = static_cast<int>(sms);
  return simulated == SimulatedSms::kAll ? all : std::clamp(all - 1, 1, kMostSampled);
}

bool SamplingPlan::whole() const {
  // How the stretches of CTAs meet output tiles is another one in each shorter grid: lines through
  // those are for where little is simulated, not for what others are measured by.
  return !extrapolate_ || (simulated_ == SimulatedSms::kAll && shares_tiles());
}

/// SMs that have a CTA: where CTAs share output tiles, each has two k-tiles at least.
std::int64_t SamplingPlan::sms_with_ctas() const {
  const std::int64_t ctas =
      shares_tiles() ? base::ceil_div(kernel_.ctas() * kernel_.k_tiles(), 2) : kernel_.ctas();
  return std::min(sms_of_gpu_, ctas);
}

/// How many SMs stand for all: two where that is much work, one for each partition of the L2, and
/// more where it is not: SMs that share a memory drift apart, and the last one counts.
int SamplingPlan::sample_size() const {
  if (sms_with_ctas() <= kMostSampled) {
    return kMostSampled;  // as good as all
  }
  const std::int64_t of_sm = std::max<std::int64_t>(
      1, base::ceil_div(kernel_.issued_macs() / kernel_.executed.macs(), sms_with_ctas()));
  const auto count =
      static_cast<int>(std::clamp<std::int64_t>(kInstructions / of_sm, 2, kMostSampled));
  return count - count % 2;
}

std::vector<int> SamplingPlan::choose_sms() const {
  const auto with_ctas = static_cast<int>(sms_with_ctas());
  int simulated = std::min({sms_built(sms_of_gpu_, simulated_), sample_size(), with_ctas});
  simulated -= simulated > partitions_ ? simulated % partitions_ : 0;
  const int first = shares_tiles() ? with_ctas / 2 : 0;
  std::vector<int> chosen;
  for (int i = 0; i < simulated; ++i) {
    const auto sm = next_of_partition(i % partitions_, partitions_,
                                      first + i * with_ctas / simulated, with_ctas, chosen);
    if (!sm) {
      break;
    }
    chosen.push_back(*sm);
  }
  return chosen;
}

}  // namespace sptc::sampling
