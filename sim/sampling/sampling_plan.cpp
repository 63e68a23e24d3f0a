// SPDX-License-Identifier: Apache-2.0
#include "sim/sampling/sampling_plan.h"

#include "sim/gemm/work_schedule.h"
#include "sim/memory/owning_partition.h"

#include <algorithm>
#include <optional>

namespace sptc::sim {
namespace {

constexpr int kMostSampled = 8;
// Instructions of the tensor cores of all simulated SMs, a few milliseconds of the host; where
// others follow through several rounds, in which who gets which CTA decides, some twenty.
constexpr std::int64_t kInstructions = 8192;
constexpr std::int64_t kInstructionsOfRounds = 40000;
// Of a grid that is followed through several rounds: k-tiles, and instructions of one SM, each some
// twenty milliseconds of the host.
constexpr std::int64_t kFollowedTiles = 5000;
constexpr std::int64_t kFollowedInstructions = 80000;
// More than these together, in units of the first and of half of the second. It does not pay for
// persistent kernels, which have no rounds that drift apart, nor where tiles pass the L1, which
// followers do not have. It pays most where CTAs share output tiles: what the L2 keeps of a shorter
// grid says little of the whole one.
constexpr double kMoreWork = 2.4, kMoreWorkOfStreamK = 4;
// k-tiles of a CTA that are simulated at most where its main loop is shortened, from how many on it
// is, and up to how many rounds of lone CTAs none is left out (Extrapolation).
constexpr std::int64_t kTilesOfShortened = 27, kTilesToShorten = 40, kRoundsOfShortened = 4;

/// As many of the `with_ctas` SMs at equal distances, `beside` of them beside each other: of each
/// partition of the L2 one, and where CTAs share output tiles one that finishes its tile and one
/// that does not. An SM has no more CTAs than the one before, which it can follow.
std::vector<int> even_leaders(int count, int with_ctas, int beside) {
  const int groups = count / beside;
  if (groups == 0) {
    return {0};
  }
  std::vector<int> result;
  for (int i = 0; i < groups * beside; ++i) {
    const int first = i / beside * with_ctas / groups / beside * beside;
    result.push_back(first + i % beside);
  }
  return result;
}

/// The first of the `with_ctas` SMs, from `from` on and around, that asks `partition` of the L2 and
/// is not taken; nothing where none is left.
std::optional<int> next_of_partition(int partition, int partitions, int from, int with_ctas,
                                     const std::vector<int>& taken) {
  for (int step = 0; step < with_ctas; ++step) {
    const int sm = (from + step) % with_ctas;
    if (partition_of_sm(sm, partitions) == partition &&
        std::find(taken.begin(), taken.end(), sm) == taken.end()) {
      return sm;
    }
  }
  return std::nullopt;
}

}  // namespace

SamplingPlan::SamplingPlan(const GemmKernel& kernel, const KernelTarget& gpu,
                           SimulatedSms simulated, bool extrapolate)
    : kernel_(kernel),
      sms_of_gpu_(gpu.sms),
      partitions_(gpu.memory.l2_partitions),
      simulated_(simulated),
      extrapolate_(extrapolate),
      sampling_(choose_sampling()),
      sms_(choose_sms()) {}

int SamplingPlan::sms_built(std::int64_t sms, SimulatedSms simulated) {
  const auto all = static_cast<int>(sms);
  return simulated == SimulatedSms::kAll      ? all
         : simulated == SimulatedSms::kInTurn ? 1
                                              : std::clamp(all - 1, 1, kMostSampled);
}

SamplingPlan::Sampling SamplingPlan::choose_sampling() const {
  if (simulated_ != SimulatedSms::kSampled) {
    return Sampling::kNoSmLeftOut;
  }
  if (kernel_.problem.distinct_b != 1) {
    // Columns of B are windows of one image: addresses, which are what followers ask for, do not
    // say that DRAM delivers it once.
    return Sampling::kShare;
  }
  if (kernel_.ctas() <= resident() && !shares_tiles()) {
    // Nobody takes a second CTA: one pass of the main loop is all there is to follow.
    return Sampling::kFollowedAtOnce;
  }
  if (few_enough_to_follow(kernel_.k_tiles())) {
    return Sampling::kFollowedWhole;
  }
  return few_when_shortened() ? Sampling::kFollowedShortDepth : Sampling::kShare;
}

bool SamplingPlan::followed() const {
  return sampling_ == Sampling::kFollowedAtOnce || sampling_ == Sampling::kFollowedWhole ||
         sampling_ == Sampling::kFollowedShortDepth;
}

bool SamplingPlan::whole() const {
  if (!extrapolate_) {
    return true;
  }
  switch (sampling_) {
    case Sampling::kNoSmLeftOut:
      // How the stretches of CTAs meet output tiles is another one in each shorter grid: lines
      // through those are for where little is simulated, not for what others are measured by.
      return shares_tiles();
    case Sampling::kFollowedWhole:
      // SMs come apart from round to round, and who gets which CTA is decided by that: no shorter
      // grid is like this one.
      return true;
    case Sampling::kFollowedAtOnce:
    case Sampling::kFollowedShortDepth:
    case Sampling::kShare:
      return false;
  }
  return false;
}

bool SamplingPlan::few_enough_to_follow(std::int64_t k_tiles) const {
  const std::int64_t tiles = kernel_.ctas() * k_tiles;
  const std::int64_t instructions = instructions_of_sm() * k_tiles / kernel_.k_tiles();
  if (tiles <= kFollowedTiles && instructions <= kFollowedInstructions) {
    return true;
  }
  if (!kernel_.stream_k() && (kernel_.persistent() || kernel_.staged_in_registers())) {
    return false;
  }
  const double work = static_cast<double>(tiles) / kFollowedTiles +
                      static_cast<double>(2 * instructions) / kFollowedInstructions;
  return work <= (kernel_.stream_k() ? kMoreWorkOfStreamK : kMoreWork);
}

bool SamplingPlan::few_when_shortened() const {
  // Two stages, with which SMs are in step. With several CTAs per SM the depth decides which of
  // them ends first.
  return kernel_.ctas_per_sm == 1 && !kernel_.copies_ahead() &&
         kernel_.ctas() <= kRoundsOfShortened * sms_of_gpu_ && !kernel_.persistent() &&
         !kernel_.stream_k() && !kernel_.staged_in_registers() &&
         kernel_.k_tiles() > kTilesToShorten && few_enough_to_follow(kTilesOfShortened);
}

/// SMs that have a CTA: where CTAs share output tiles, each has two k-tiles at least.
std::int64_t SamplingPlan::sms_with_ctas() const {
  const std::int64_t ctas =
      shares_tiles() ? ceil_div(kernel_.ctas() * kernel_.k_tiles(), 2) : kernel_.ctas();
  return std::min(sms_of_gpu_, ctas);
}

std::vector<std::vector<int>> SamplingPlan::turns() const {
  if (simulated_ != SimulatedSms::kInTurn) {
    return {sms_};
  }
  std::vector<std::vector<int>> turns;
  turns.reserve(static_cast<std::size_t>(sms_with_ctas()));
  for (int sm = 0; sm < sms_with_ctas(); ++sm) {
    turns.push_back({sm});
  }
  return turns;
}

/// Of the tensor cores.
std::int64_t SamplingPlan::instructions_of_sm() const {
  return ceil_div(kernel_.issued_macs() / kernel_.executed.macs(), sms_with_ctas());
}

/// How many SMs stand for all: two where that is much work, one for each partition of the L2, and
/// more where it is not: SMs that share a memory drift apart, and the last one counts.
int SamplingPlan::sample_size() const {
  if (sms_with_ctas() <= kMostSampled) {
    return kMostSampled;  // as good as all
  }
  const bool through_rounds =
      sampling_ == Sampling::kFollowedWhole || sampling_ == Sampling::kFollowedShortDepth;
  const std::int64_t most = through_rounds ? kInstructionsOfRounds : kInstructions;
  const std::int64_t of_sm = std::max<std::int64_t>(1, instructions_of_sm());
  const auto count = static_cast<int>(std::clamp<std::int64_t>(most / of_sm, 2, kMostSampled));
  return count - count % 2;
}

/// Those at equal distances. Where stretches are as long as output tiles, and the leaders have most
/// of a tile to end before they show how its sums are stored, with those among them that have the
/// least rest of a tile to end first: others with such a rest wait to be shown.
std::vector<int> SamplingPlan::leaders_of_stream(int count, int with_ctas) const {
  const int beside = std::max(partitions_, 2);
  std::vector<int> even = even_leaders(count, with_ctas, beside);
  const WorkSchedule schedule(kernel_, kernel_.ctas(), kernel_.k_tiles(), sms_of_gpu_);
  const auto rest = [&](std::int64_t cta) {
    const WorkSegment& first = schedule.segments(cta).front();
    return first.finishes ? kernel_.k_tiles() : first.k_tiles;
  };
  const bool late =
      std::ranges::all_of(even, [&](int sm) { return 2 * rest(sm) > kernel_.k_tiles(); });
  const int built = sms_built(sms_of_gpu_, simulated_);
  if (!late || kernel_.ctas() < schedule.ctas() || built < 2 * beside) {
    return even;
  }
  std::int64_t shortest = 0;
  for (std::int64_t cta = 0; cta < schedule.ctas(); ++cta) {
    shortest = rest(cta) < rest(shortest) ? cta : shortest;
  }
  const int first = static_cast<int>(shortest % sms_of_gpu_) / beside * beside;
  const int kept = std::min(static_cast<int>(even.size()), built - beside);
  std::vector<int> result(even.begin(), even.begin() + kept);
  for (int sm = first; sm < std::min(first + beside, with_ctas); ++sm) {
    if (std::ranges::find(result, sm) == result.end()) {
      result.push_back(sm);
    }
  }
  std::ranges::sort(result);
  return result;
}

std::vector<int> SamplingPlan::choose_sms() const {
  const auto with_ctas = static_cast<int>(sms_with_ctas());
  int simulated = std::min({sms_built(sms_of_gpu_, simulated_), sample_size(), with_ctas});
  simulated -= simulated > partitions_ ? simulated % partitions_ : 0;
  if (followed() && shares_tiles()) {
    return leaders_of_stream(simulated, with_ctas);
  }
  if (followed()) {
    return even_leaders(simulated, with_ctas, partitions_);
  }
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

}  // namespace sptc::sim
