// SPDX-License-Identifier: Apache-2.0
#include "sim/gpu/gpu.h"

#include "models/base/error.h"
#include "sim/base/run_events.h"
#include "sim/gpu/build_memory.h"
#include "sim/hardware/isa/prepared_program.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace sptc::gpu {

Gpu::Links::Links(int index, const base::Clock& clock)
    : launch(("launch" + std::to_string(index)).c_str(), clock, 1),
      done(("done" + std::to_string(index)).c_str(), clock, 1) {}

Gpu::Gpu(const sc_core::sc_module_name& name, const base::Clock& clock, const GpuSpec& spec, Memory memory)
    : sc_core::sc_module(name), clock_(clock), scheduler_("cta_scheduler", clock, spec.sms), clock_mhz_(clock.mhz()) {
  require_memory_to_build(spec);
  for (int i = 0; i < spec.sms; ++i) {
    sms_.push_back(std::make_unique<sm::Sm>(("sm" + std::to_string(i)).c_str(), clock, spec.sm));
    links_.push_back(std::make_unique<Links>(i, clock));
    const auto index = static_cast<std::size_t>(i);
    base::connect(scheduler_.launch_out[index], links_.back()->launch, sms_.back()->launch_in);
    base::connect(sms_.back()->done_out, links_.back()->done, scheduler_.done_in[index]);
  }
  if (memory == Memory::kOutside) {
    return;
  }
  if (memory == Memory::kDramOutside) {
    auto l2 = std::make_unique<memory::L2BeforeDram>("l2", clock, spec.memory, spec.sms);
    outer_l2_ = l2.get();
    memory_ = std::move(l2);
  } else {
    memory_ = std::make_unique<memory::MemorySystem>("memory", clock, spec.memory, spec.sms);
  }
  for (std::size_t i = 0; i < sms_.size(); ++i) {
    sms_[i]->async_copy.memory.bind(memory_->socket(i));
  }
}

void Gpu::observe_memory(const memory::MemoryPorts::Observer& observer) {
  if (memory_) {
    memory_->observe(observer);
  }
}

Gpu::~Gpu() {
  memory_.reset();
  for (; !sms_.empty(); sms_.pop_back()) {
    links_.pop_back();
  }
}

void Gpu::simulate() {
  if (memory_ && outer_l2_ == nullptr) {
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
  return scheduler_.resident() > 0 ||
         std::any_of(sms_.begin(), sms_.end(), [](const auto& sm) { return sm->async_copy.under_way() > 0; });
}

std::int64_t Gpu::progress() const {
  std::int64_t sum = activity().instructions;
  for (const auto& sm : sms_) {
    sum += sm->async_copy.last_response_cycle();
  }
  return sum;
}

GridRun Gpu::run(const sm::KernelLaunch& launched, const memory::L2Contents& l2) {
  const isa::WarpProgram program = isa::prepared(*launched.program);
  sm::KernelLaunch kernel = launched;
  kernel.program = &program;
  const std::int64_t start = clock_.now();
  const std::int64_t macs_before = activity().executed_macs;
  if (memory_) {
    memory_->reset(clock_mhz_, l2);
  }
  for (const auto& sm : sms_) {
    sm->start_grid(start, kernel.shared_memory);
  }
  scheduler_.start(kernel);
  simulate();
  if (busy()) {
    report_stuck();
  }
  GridRun result = take_records(start);
  result.macs = activity().executed_macs - macs_before;
  return result;
}

GridRun Gpu::take_records(std::int64_t start) {
  GridRun result;
  std::int64_t end = start;
  for (const auto& sm : sms_) {
    result.ctas.push_back(sm->cta_unit.take_records());
    end = std::max(end, sm->async_copy.last_response_cycle());
    for (sm::CtaRecord& record : result.ctas.back()) {
      end = std::max(end, record.end_cycle);
      record.start_cycle -= start;
      record.end_cycle -= start;
    }
  }
  result.cycles = end - start;
  for (const auto& sm : sms_) {
    result.stalls += sm->stalls(end);
  }
  return result;
}

memory::MemoryBytes Gpu::memory_counters() const {
  base::ensure(memory_ != nullptr, "a memory outside counts nothing here");
  return memory_->counters();
}

tensor_core::Activity Gpu::activity() const {
  tensor_core::Activity sum;
  for (const auto& sm : sms_) {
    sum += sm->activity();
  }
  return sum;
}

void Gpu::report_stuck() const {
  std::string text =
      "the simulation is stuck with " + std::to_string(scheduler_.resident()) + " CTAs under way; resident warps:";
  for (const auto& sm : sms_) {
    for (const auto& partition : sm->sub_partitions) {
      if (partition->resident_warps() > 0) {
        text += std::string(" ") + partition->name() + "=" + std::to_string(partition->resident_warps());
      }
    }
  }
  text += "; transactions without an answer:";
  for (const auto& sm : sms_) {
    if (sm->async_copy.under_way() > 0) {
      text += std::string(" ") + sm->async_copy.name() + "=" + std::to_string(sm->async_copy.under_way());
    }
  }
  throw base::InternalError(text);
}

}  // namespace sptc::gpu
