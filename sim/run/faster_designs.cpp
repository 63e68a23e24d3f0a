// SPDX-License-Identifier: Apache-2.0
#include "sim/run/faster_designs.h"

#include "models/base/error.h"
#include "sim/gemm/kernel_choice.h"
#include "sim/run/bottleneck.h"
#include "sim/run/explain_thresholds.h"
#include "sim/run/faster_design.h"
#include "sim/run/gemm_launcher.h"
#include "sim/run/kernel_runner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <utility>
namespace sptc::sim {
namespace {

KernelOverrides as_overrides(const GemmKernel& kernel) {
  return {kernel.cta_tile, kernel.stages,    kernel.split_k,        kernel.decomposition,
          false,           kernel.cta_group, kernel.executed.family};
}

using TriedLaunch = FasterDesigns::TriedLaunch;
using Gains = FasterDesigns::Gains;

constexpr std::array kSimulated{Resource::kTensor, Resource::kSharedMemory, Resource::kSmPort,
                                Resource::kL2,     Resource::kDram,         Resource::kWaits,
                                Resource::kRates,  Resource::kRegisterBanks};

/// What of a VariantResult its bottleneck depends on, as it travels between processes.
struct Timed {
  double us = 0;  ///< 0: not simulated
  double launch_us = 0;
  double clock_mhz = 0;
  ClockScaling clock_scaling;
  CycleBudget budget;
  RetunedDesign kernel;  ///< what names it; no rates
};

/// At the clock of `base`: under a load-dependent one a faster design would run at another clock,
/// and what it saves would be that of the clock, too. At the same clock it is `timed.us` itself, so
/// that a resource that changes no cycle saves 0 and not what rounding leaves.
double us_at_clock_of(const VariantResult& base, const Timed& timed) {
  return timed.us + (timed.us - timed.launch_us) *
                        (timed.clock_scaling.stretch(timed.clock_mhz, base.clock_mhz) - 1);
}

VariantResult result_of(const Timed& timed) {
  VariantResult result;
  result.time_us = timed.us;
  result.launch_us = timed.launch_us;
  result.clock_mhz = timed.clock_mhz;
  result.clock_scaling = timed.clock_scaling;
  result.budget = timed.budget;
  return result;
}

/// A design, and which launches are simulated on it.
struct Trial {
  Speeds speeds;
  std::vector<std::size_t> launches;
  bool retuned = false;  ///< with the kernels that the library has for the design
};

/// Simulates launches of `gpu` on faster ones.
class Laboratory {
 public:
  /// `limited_mhz`: clocks of the launches where a power limit sets them, else empty.
  Laboratory(const std::vector<TriedLaunch>& launches, const GpuSpec& gpu,
             const RunOptions& options, std::vector<double> limited_mhz)
      : launches_(launches),
        gpu_(gpu),
        options_(options),
        limited_mhz_(std::move(limited_mhz)),
        values_(uses_values(options)) {
    options_.fidelity = Fidelity::kTiming;
    options_.sms = GemmSimulator::Sms::kSampled;
    options_.extrapolate = true;
  }

  /// The launches of each trial, several trials at a time.
  std::vector<std::vector<Timed>> run(const std::vector<Trial>& trials) const {
    std::vector<std::vector<Timed>> results;
    std::deque<SeparateProcess> running;
    for (std::size_t next = 0; results.size() < trials.size();) {
      for (; next < trials.size() && running.size() < kAtOnce; ++next) {
        const Trial& trial = trials[next];
        running.emplace_back([&] { return bytes_of(times_on(trial)); });
      }
      results.push_back(rows_of<Timed>(running.front().result()));
      ensure(results.back().size() == trials[results.size() - 1].launches.size(),
             "a process timed not every launch");
      running.pop_front();
    }
    return results;
  }

  Speeds whole(const Speeds& speeds) const { return in_whole_units(gpu_, speeds); }

 private:
  static constexpr std::size_t kAtOnce = kSimulated.size() + 1;

  static bool uses_values(const RunOptions& options) {
    return options.fidelity == Fidelity::kDatapath;
  }

  std::vector<Timed> times_on(const Trial& trial) const {
    // What is timed here on `gpu` itself is what the run times there.
    const bool is_base = trial.speeds == Speeds();
    const GpuSpec gpu = is_base ? gpu_ : faster(gpu_, trial.speeds);
    RunOptions options = options_;
    GemmLauncher launcher(gpu, options);
    const GpuSpec& chooser = trial.retuned ? gpu : gpu_;
    KernelRunner kernels(gpu, options,
                         [&](const GemmProblem& problem, const KernelOverrides& overrides,
                             const std::vector<GemmOperands>* operands) {
                           const GemmKernel kernel =
                               choose_kernel(problem, overrides, chooser.kernel_target(), values_);
                           return launcher(problem, as_overrides(kernel), operands);
                         });
    std::vector<Timed> all;
    for (const std::size_t place : trial.launches) {
      const TriedLaunch& launch = launches_[place];
      if (!limited_mhz_.empty()) {
        options.clock = ClockPolicy::fixed(limited_mhz_[place]);
      }
      Timed timed;
      try {
        const VariantResult result = kernels.time(launch.operation, launch.sparse);
        timed = {result.time_us,   result.launch_us,
                 result.clock_mhz, result.clock_scaling,
                 result.budget,    retuned_design(1, result.time_us, result.kernel)};
      } catch (const InputError&) {
        // The run itself says what is wrong.
      }
      all.push_back(timed);
    }
    return all;
  }

  const std::vector<TriedLaunch>& launches_;
  const GpuSpec& gpu_;
  RunOptions options_;
  std::vector<double> limited_mhz_;
  bool values_;
};

/// What is searched: for every launch what each resource saves where it is twice as fast, and for a
/// sparse launch the least design on which it takes half of the dense time on the design as it is
/// ("2x", target_us()). Only simulating it tells, and each design takes a process of its own. So
/// they go in rounds, the designs of one beside each other, and each round asks for what the one
/// before it could not settle:
///
///   1. each resource alone, twice as fast: what bounds the launch, and how far the closed form is
///      to be trusted on the way to all rates twice as fast (Bottleneck)
///   2. pairs, where no resource alone is in the way; the design that the closed form names for 2x;
///      and rates of next to no time, where twice is not enough: whether any rates reach 2x
///   3. kRounds times: the closed form again, asked for as much less time as its last design took
///      too long. With the first of these, where no rates reach 2x with the kernel as it is: the
///      kernels that the library has for faster designs
///   4. kRoundsAlike times: all rates alike, between what is known to be enough and what is not.
///      This does not need the closed form; it comes last because single resources say more
class Trials {
  // All rates alike: a little more than needed, in steps that whole dot units and banks allow.
  static constexpr double kMargin = 1.02, kSteps = 16;
  static constexpr int kRounds = 2, kRoundsAlike = 4;  // each learns from the one before
  // Times the least of all rates that is enough: what is named is no more than that, if the rounds
  // allow it.
  static constexpr double kNear = 1.2;

 public:
  Trials(const std::vector<TriedLaunch>& launches, const GpuSpec& gpu, const RunOptions& options,
         std::vector<double> limited_mhz)
      : launches_(launches), laboratory_(launches, gpu, options, std::move(limited_mhz)) {}

  std::vector<std::optional<Gains>> gains() {
    try_each_alone();
    plan_pairs();
    plan_needed();
    run_planned();
    forget_what_is_out_of_reach();
    plan_other_kernels();
    for (int round = 0; round < kRounds; ++round) {
      plan_for_less_time();
      run_planned();
    }
    for (int round = 0; round < kRoundsAlike; ++round) {
      plan_all_rates_alike();
      run_planned();
    }
    return std::move(gains_);
  }

 private:
  void run_planned() {
    const std::vector<Trial> trials = std::exchange(planned_, {});
    const std::vector<std::vector<Timed>> times = laboratory_.run(trials);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      for (std::size_t j = 0; j < trials[i].launches.size(); ++j) {
        if (times[i][j].us > 0) {
          take(trials[i], trials[i].launches[j], times[i][j]);
        }
      }
    }
  }

  void try_each_alone() {
    std::vector<std::size_t> all(launches_.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = i;
    }
    std::vector<Trial> trials{{{}, all}};
    for (const Resource resource : kSimulated) {
      trials.push_back({twice(resource), all});
    }
    const std::vector<std::vector<Timed>> times = laboratory_.run(trials);
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      const Timed& base = times.front()[i];
      results_.push_back(result_of(base));
      gains_.emplace_back();
      alike_.push_back({{1, base.us}});
      if (std::any_of(times.begin(), times.end(),
                      [i](const auto& row) { return row[i].us <= 0; })) {
        continue;
      }
      SavedTime saved;
      saved[Resource::kLaunch] = base.clock_scaling.form.launch_us / 2 / base.us;
      for (std::size_t j = 0; j < kSimulated.size(); ++j) {
        saved[kSimulated[j]] = 1 - us_at_clock_of(results_[i], times[j + 1][i]) / base.us;
      }
      gains_[i].emplace();
      gains_[i]->saved = saved;
      alike_[i][2] = base.us * (1 - saved[Resource::kRates]);
      results_[i].saved = saved;
    }
  }

  /// Any two of the three busiest rates, where no resource alone is in the way.
  void plan_pairs() {
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      if (!gains_[i] || !Bottleneck(results_[i]).nothing_alone()) {
        continue;
      }
      const std::array<Resource, 3> busiest = busiest_rates(results_[i].budget);
      for (std::size_t first = 0; first < busiest.size(); ++first) {
        for (std::size_t second = first + 1; second < busiest.size(); ++second) {
          Speeds speeds;
          speeds[busiest[first]] = speeds[busiest[second]] = 2;
          plan(speeds, i);
          pairs_.push_back({i, speeds, {busiest[first], busiest[second]}});
        }
      }
    }
  }

  /// What the closed form asks for; and, where all rates twice as fast are not enough, whether any
  /// rates are.
  void plan_needed() {
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      const std::optional<std::size_t> dense = launches_[i].dense;
      if (!gains_[i] || !dense || !gains_[*dense] || target_us(i) >= results_[i].time_us) {
        continue;
      }
      plan_design_for(target_us(i), i);
      if (results_[i].time_us * (1 - gains_[i]->saved[Resource::kRates]) > target_us(i)) {
        plan(all_rates(threshold::kBeyondAllRates), i);
      }
    }
  }

  /// Whether 2x is in reach of `sparse`, and no design was found that comes to it.
  bool is_open(std::size_t sparse) const {
    const std::optional<std::size_t> dense = launches_[sparse].dense;
    const auto& gains = gains_[sparse];
    return gains && dense && gains_[*dense] && target_us(sparse) < results_[sparse].time_us &&
           gains->without_rates_us.value_or(0) <= target_us(sparse) &&
           !(gains->needed && gains->needed->speedup >= threshold::kAsGoodAsTwo);
  }

  /// The closed form shares out, and may ask for too little. A design that took 2 / speedup times
  /// what was asked for is taken to be off by as much again: that much less is asked for.
  void plan_for_less_time() {
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      if (is_open(i) && gains_[i]->needed) {
        plan_design_for(target_us(i) * gains_[i]->needed->speedup / 2, i);
      }
    }
  }

  /// Of all rates alike, the slowest ones that are known to take half of the dense time, or the
  /// fastest that were tried.
  std::map<double, double>::const_iterator enough(std::size_t launch) const {
    const std::map<double, double>& tried = alike_[launch];
    auto high = std::next(tried.begin());
    while (high->second > target_us(launch) && std::next(high) != tried.end()) {
      ++high;
    }
    return high;
  }

  /// Whether all rates alike are enough, and much slower ones may be.
  bool is_loose(std::size_t sparse) const {
    const auto& gains = gains_[sparse];
    if (!gains || !gains->needed || gains->needed->speedup < 2) {
      return false;
    }
    const auto high = enough(sparse);
    return gains->needed->speeds == all_rates(high->first) &&
           high->first > kNear * std::prev(high)->first;
  }

  void plan_all_rates_alike() {
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      if ((is_open(i) && gains_[i]->saved[Resource::kRates] > 0) || is_loose(i)) {
        if (const auto times = next_alike(i)) {
          plan_design_at(all_rates(*times), i);
        }
      }
    }
  }

  /// Between what is enough and the next one that is not: where the time is half of the dense one
  /// if a part of it is as many times shorter as rates are faster, or so much slower than what is
  /// enough that it need not be tried again. Nothing where those two leave no room. With rates x
  /// the time is a + b / x, a straight line in 1 / x through both: its share of the way down in
  /// time is that in 1 / x.
  std::optional<double> next_alike(std::size_t launch) const {
    const auto high = enough(launch), low = std::prev(high);
    if (high->second >= low->second) {
      return std::nullopt;
    }
    const double share = (low->second - target_us(launch)) / (low->second - high->second);
    const double slower = 1 / low->first + share * (1 / high->first - 1 / low->first);
    const double aimed = kMargin / slower;
    const double times = is_loose(launch) ? std::min(aimed, high->first / kNear) : aimed;
    const double in_steps = std::ceil(times * kSteps) / kSteps;
    return in_steps > low->first ? std::optional(in_steps) : std::nullopt;
  }

  /// What should take `us`, by the closed form.
  void plan_design_for(double us, std::size_t launch) {
    if (const auto speeds = Bottleneck(results_[launch]).speeds_for(us)) {
      plan_design_at(*speeds, launch);
    }
  }

  void plan_design_at(const Speeds& speeds, std::size_t launch) {
    if (speeds.most() <= threshold::kBeyondAllRates) {
      needed_.push_back({launch, laboratory_.whole(speeds)});
      plan(needed_.back().speeds, launch);
    }
  }

  /// Half of the dense time.
  double target_us(std::size_t sparse) const {
    return results_[*launches_[sparse].dense].time_us / 2;
  }

  void plan(const Speeds& speeds, std::size_t launch, bool retuned = false) {
    auto trial = std::find_if(planned_.begin(), planned_.end(), [&](const Trial& known) {
      return known.speeds == speeds && known.retuned == retuned;
    });
    if (trial == planned_.end()) {
      trial = planned_.insert(planned_.end(), {speeds, {}, retuned});
    }
    trial->launches.push_back(launch);
  }

  /// What `launch` took: for whatever that was planned.
  void take(const Trial& trial, std::size_t launch, const Timed& timed) {
    if (trial.retuned) {
      RetunedDesign retuned = timed.kernel;
      retuned.us = us_at_clock_of(results_[launch], timed);
      retuned.times_as_fast = trial.speeds[Resource::kTensor];
      keep_better(retuned, 2 * target_us(launch), gains_[launch]->retuned);
    } else {
      take(trial.speeds, launch, us_at_clock_of(results_[launch], timed));
    }
  }

  /// Nearer to 2x, or no less with all rates alike slower than those that are known.
  static bool is_better(const NeededDesign& next, const std::optional<NeededDesign>& known) {
    if (!known || known->speedup < threshold::kAsGoodAsTwo) {
      return !known || next.speedup > known->speedup;
    }
    const double most = next.speeds.most();
    return next.speedup >= 2 && next.speeds == all_rates(most) &&
           known->speeds == all_rates(known->speeds.most()) && most < known->speeds.most();
  }

  /// `launch` took `us` at `speeds`.
  void take(const Speeds& speeds, std::size_t launch, double us) {
    for (const PlannedPair& planned : pairs_) {
      const double saved = 1 - us / results_[launch].time_us;
      std::optional<SavedByPair>& best = gains_[launch]->pair;
      if (planned.launch == launch && planned.speeds == speeds && (!best || saved > best->saved)) {
        best = planned.pair;
        best->saved = saved;
      }
    }
    for (const PlannedNeed& planned : needed_) {
      if (planned.launch == launch && planned.speeds == speeds) {
        const double speedup = 2 * target_us(launch) / us;
        if (is_better({speeds, speedup}, gains_[launch]->needed)) {
          gains_[launch]->needed = {speeds, speedup, results_[launch].clock_mhz};
        }
      }
    }
    if (speeds == all_rates(speeds[Resource::kTensor])) {
      alike_[launch][speeds[Resource::kTensor]] = us;
    }
    if (speeds == all_rates(threshold::kBeyondAllRates)) {
      gains_[launch]->without_rates_us = us;
    }
  }

  bool is_out_of_reach(std::size_t launch) const {
    const auto& gains = gains_[launch];
    return gains && gains->without_rates_us && *gains->without_rates_us > target_us(launch);
  }

  void forget_what_is_out_of_reach() {
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      if (is_out_of_reach(i)) {
        gains_[i]->needed.reset();
      }
    }
  }

  /// What one kernel cannot reach, another one may that fills its pipeline sooner.
  void plan_other_kernels() {
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      for (const double times : kRetunedRates) {
        if (is_out_of_reach(i)) {
          plan(all_rates(times), i, true);
        }
      }
    }
  }

  struct PlannedPair {
    std::size_t launch;
    Speeds speeds;
    SavedByPair pair;
  };
  struct PlannedNeed {
    std::size_t launch;
    Speeds speeds;
  };

  const std::vector<TriedLaunch>& launches_;
  Laboratory laboratory_;
  std::vector<VariantResult> results_;  ///< on the design as it is
  std::vector<std::optional<Gains>> gains_;
  std::vector<Trial> planned_;
  std::vector<PlannedPair> pairs_;
  std::vector<PlannedNeed> needed_;
  std::vector<std::map<double, double>> alike_;  ///< of each launch: us by speed of all rates
};

}  // namespace

FasterDesigns::FasterDesigns(const std::vector<TriedLaunch>& launches, const GpuSpec& gpu,
                             const RunOptions& options)
    : launches_(launches.size()),
      clock_limited_(options.clock_limited),
      process_([&](const std::function<std::string()>& sent) {
        std::vector<double> limited_mhz;
        if (clock_limited_) {
          limited_mhz = rows_of<double>(sent());
        }
        return bytes_of(Trials(launches, gpu, options, std::move(limited_mhz)).gains());
      }) {}

std::vector<std::optional<Gains>> FasterDesigns::results(const std::vector<double>& clocks_mhz) {
  ensure(clocks_mhz.size() == launches_, "a clock for every launch");
  if (clock_limited_) {
    process_.send(bytes_of(clocks_mhz));
  }
  std::vector<std::optional<Gains>> gains = rows_of<std::optional<Gains>>(process_.result());
  ensure(gains.size() == launches_, "a process tried not every launch");
  return gains;
}

}  // namespace sptc::sim
