// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/gpu.h"

#include "models/base/error.h"
#include "sim/base/run_events.h"
#include "sim/gpu/build_memory.h"
#include "sim/isa/prepared_program.h"
#include "sim/sampling/last_round.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace sptc::gpu {

Gpu::Links::Links(int index, const base::Clock& clock)
    : launch(("launch" + std::to_string(index)).c_str(), clock, 1),
      done(("done" + std::to_string(index)).c_str(), clock, 1) {}

namespace {

/// Throws std::bad_alloc where an SM has no room: SystemC's tables of names write through the null
/// pointer of a malloc() that failed.
void require_room_of_an_sm() {
  constexpr std::size_t kBytes = 1 << 20;  // an SM with its share of the memory takes 0.4 MiB
  const std::unique_ptr<volatile char[]> room(new volatile char[kBytes]);
  room[0] = 0;
}

}  // namespace

Gpu::Gpu(const sc_core::sc_module_name& name, const base::Clock& clock, const GpuSpec& spec,
         int sms_built, Memory memory)
    : sc_core::sc_module(name),
      clock_(clock),
      scheduler_("cta_scheduler", clock, sms_built),
      all_sms_(spec.sms),
      clock_mhz_(clock.mhz()) {
  require_memory_to_build(spec, sms_built);
  for (int i = 0; i < sms_built; ++i) {
    require_room_of_an_sm();
    sms_.push_back(std::make_unique<sm::Sm>(("sm" + std::to_string(i)).c_str(), clock, spec.sm));
    links_.push_back(std::make_unique<Links>(i, clock));
    const auto index = static_cast<std::size_t>(i);
    scheduler_.launch_out[index](links_.back()->launch);
    scheduler_.done_in[index](links_.back()->done);
    sms_.back()->launch_in(links_.back()->launch);
    sms_.back()->done_out(links_.back()->done);
  }
  if (memory == Memory::kOutside) {
    return;
  }
  if (memory == Memory::kDramOutside) {
    base::ensure(sms_built == spec.sms, "a DRAM outside needs all SMs");
    l2_ = std::make_unique<memory::L2BeforeDram>("l2", clock, spec.memory, sms_built);
  } else if (sms_built == spec.sms) {
    memory_ = std::make_unique<memory::MemorySystem>("memory", clock, spec.memory, sms_built);
  } else {
    sampled_memory_ =
        std::make_unique<sampling::SampledMemory>("sampled_memory", clock, spec.memory, sms_built);
  }
  for (std::size_t i = 0; i < sms_.size(); ++i) {
    sms_[i]->async_copy.memory.bind(memory_ports()->socket(i));
  }
}

memory::MemoryPorts* Gpu::memory_ports() {
  if (memory_) {
    return memory_.get();
  }
  return l2_ ? static_cast<memory::MemoryPorts*>(l2_.get()) : sampled_memory_.get();
}

void Gpu::observe_memory(const memory::MemoryPorts::Observer& observer) {
  if (memory::MemoryPorts* const ports = memory_ports()) {
    ports->observe(observer);
  }
}

/// The last that was built goes first: SystemC looks for what ends in lists, the latest in front.
Gpu::~Gpu() {
  sampled_memory_.reset();
  l2_.reset();
  memory_.reset();
  for (; !sms_.empty(); sms_.pop_back()) {
    links_.pop_back();
  }
}

CtaScheduler::NextCta Gpu::next_cta_of(const sm::KernelLaunch& kernel,
                                       const std::vector<int>& sm_numbers) {
  if (static_cast<std::int64_t>(sms_.size()) == all_sms_) {
    return [next = std::int64_t{0}, ctas = kernel.ctas,
            left = std::vector<std::int64_t>(sms_.size(), kernel.most_ctas_of_sm(all_sms_))](
               std::size_t sm, std::int64_t) mutable {
      if (next == ctas || left[sm] == 0) {
        return std::int64_t{-1};
      }
      --left[sm];
      return next++;
    };
  }
  // Each gets what one of all would get if all took the same time.
  return [this, next = std::vector<std::int64_t>(sm_numbers.begin(), sm_numbers.end()),
          ctas = kernel.ctas](std::size_t sm, std::int64_t) mutable {
    if (sm >= next.size() || next[sm] >= ctas) {
      return std::int64_t{-1};
    }
    return std::exchange(next[sm], next[sm] + all_sms_);
  };
}

void Gpu::simulate() {
  if (memory_ || sampled_memory_) {
    base::run_events();  // until nothing is left to happen
    return;
  }
  // A memory outside may never come to rest. So time passes in slices: after the one in which the
  // grid ends, one more for what is on the wires of the SMs.
  constexpr std::int64_t kSliceCycles = 1000;
  constexpr int kSlicesUntilStuck = 1000;
  std::int64_t before = progress();
  int slices_without = 0;
  for (bool last = false; !last && sc_core::sc_pending_activity();) {
    last = !busy() || slices_without == kSlicesUntilStuck;
    base::run_events(clock_.cycles(kSliceCycles));
    slices_without = progress() == before ? slices_without + 1 : 0;
    before = progress();
  }
}

bool Gpu::busy() const {
  return scheduler_.resident() > 0 || std::any_of(sms_.begin(), sms_.end(), [](const auto& built) {
           return built->async_copy.under_way() > 0;
         });
}

std::int64_t Gpu::progress() const {
  std::int64_t sum = activity().instructions;
  for (const auto& built : sms_) {
    sum += built->async_copy.last_response_cycle();
  }
  return sum;
}

GridRun Gpu::run(const sm::KernelLaunch& launched, const std::vector<int>& sm_numbers,
                 const memory::L2Contents& l2) {
  base::ensure(sm_numbers.size() <= sms_.size(), "more SMs are to be simulated than there are");
  const isa::WarpProgram program = isa::prepared(*launched.program);
  sm::KernelLaunch kernel = launched;
  kernel.program = &program;
  const std::int64_t start = clock_.now();
  const std::int64_t macs_before = activity().executed_macs;
  if (memory_) {
    memory_->reset(clock_mhz_, l2);
  }
  if (l2_) {
    l2_->reset(clock_mhz_, l2);
  }
  if (sampled_memory_) {
    const kernels::ShareOf alone = [this](std::size_t, std::int64_t) -> const kernels::ShareOfCta& {
      return alone_;
    };
    sampled_memory_->start(clock_mhz_, share_of_cta_ ? share_of_cta_ : alone, l2);
  }
  for (const auto& built : sms_) {
    built->start_grid(start, kernel.shared_memory);
  }
  scheduler_.start(kernel, next_cta_of(kernel, sm_numbers));
  simulate();
  if (busy()) {
    report_stuck();
  }
  const bool all = static_cast<std::int64_t>(sms_.size()) == all_sms_;
  GridRun result = take_records(start, all ? sms_.size() : sm_numbers.size());
  result.macs = activity().executed_macs - macs_before;
  if (sampled_memory_ && sm_numbers.size() > 1) {
    result.cycles +=
        sampling::simulated_to_last_end(result.ctas, {kernel.ctas, all_sms_, kernel.ctas_per_sm},
                                        sampled_memory_->share().spread(clock_.now()));
  }
  return result;
}

GridRun Gpu::take_records(std::int64_t start, std::size_t used) {
  GridRun result;
  std::int64_t end = start;
  for (const auto& built : sms_) {
    result.ctas.push_back(built->cta_unit.take_records());
    end = std::max(end, built->async_copy.last_response_cycle());
    for (sm::CtaRecord& record : result.ctas.back()) {
      end = std::max(end, record.end_cycle);
      record.start_cycle -= start;
      record.end_cycle -= start;
    }
  }
  result.cycles = end - start;
  for (std::size_t i = 0; i < used; ++i) {
    result.stalls += sms_[i]->stalls(end);
  }
  return result;
}

memory::MemoryBytes Gpu::memory_counters() const {
  base::ensure(memory_ || l2_, "the memory of all SMs counts, and it is not there");
  return memory_ ? memory_->counters() : l2_->counters();
}

sm::Activity Gpu::activity() const {
  sm::Activity sum;
  for (const auto& built : sms_) {
    sum += built->activity();
  }
  return sum;
}

void Gpu::report_stuck() const {
  std::string text = "the simulation is stuck with " + std::to_string(scheduler_.resident()) +
                     " CTAs under way; resident warps:";
  for (const auto& built : sms_) {
    for (const auto& partition : built->sub_partitions) {
      if (partition->resident_warps() > 0) {
        text += std::string(" ") + partition->name() + "=" +
                std::to_string(partition->resident_warps());
      }
    }
  }
  text += "; transactions without an answer:";
  for (const auto& built : sms_) {
    if (built->async_copy.under_way() > 0) {
      text += std::string(" ") + built->async_copy.name() + "=" +
              std::to_string(built->async_copy.under_way());
    }
  }
  throw base::InternalError(text);
}

}  // namespace sptc::gpu
