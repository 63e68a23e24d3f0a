// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/sm/shared_memory.h"

#include "models/base/shape.h"

#include <algorithm>
#include <utility>

namespace sptc::sm {

SharedMemory::SharedMemory(const sc_core::sc_module_name& name, const base::Clock& clock, const SmSpec& spec)
    : base::Module(name, clock),
      request_in("request_in", static_cast<std::size_t>(spec.sub_partitions)),
      done_out("done_out", static_cast<std::size_t>(spec.sub_partitions)),
      wavefront_bytes_(spec.shared_memory_bytes_per_cycle().count()),
      latency_(spec.shared_memory_latency_cycles),
      banks_(static_cast<double>(wavefront_bytes_)),
      wavefront_cycles_(spec.shared_memory_wavefront_cycles),
      pace_(static_cast<std::size_t>(spec.sub_partitions), base::Throughput(1)),
      next_arrival_(pace_.size(), kNone) {
  run_on();
  for (auto& port : request_in) {
    sensitive << port;
  }
}

void SharedMemory::on_event() {
  std::int64_t serve_at = kNone;
  for (auto& port : request_in) {
    if (port->can_read()) {
      const LoadRequest& request = port->peek();
      serve_at = std::min(serve_at, request.elided ? request.arrival_cycle + latency_ - 1 : now());
    }
  }
  if (serve_at <= now()) {
    serve();
  } else if (serve_at != kNone) {
    wake_at(serve_at);
  }
}

void SharedMemory::serve() {
  for (std::size_t i = 0; i < request_in.size(); ++i) {
    see_next(i);
  }
  while (true) {
    const auto next = std::min_element(next_arrival_.begin(), next_arrival_.end());
    if (*next == kNone) {
      return;
    }
    const auto index = static_cast<std::size_t>(next - next_arrival_.begin());
    take_writes(*next);
    answer(index, request_in[index]->read());
    see_next(index);
  }
}

void SharedMemory::see_next(std::size_t index) {
  base::WireIn<LoadRequest>& requests = *request_in[index].operator->();
  next_arrival_[index] = requests.can_read() ? requests.peek().arrival_cycle : kNone;
}

void SharedMemory::answer(std::size_t index, const LoadRequest& request) {
  const std::int64_t ready = access(index, request) + latency_ - 1;
  base::Payload<LoadedRegisters> payload;
  const bool is_load = request.instruction->opcode == isa::Opcode::kLoadMatrix &&
                       request.instruction->operand != isa::Operand::kPartialSum;
  if (is_load && request.kernel->memory != nullptr) {
    payload = base::make_payload<LoadedRegisters>();
    base::ensure(static_cast<std::size_t>(request.instruction->d.count) <= payload->size(),
                 "a load fills more registers than one carries");
    request.kernel->memory->load(request.cta, request.warp, *request.instruction, request.iteration, payload->data());
  }
  done_out[index]->write_after({request, ready, std::move(payload)}, request.elided ? 1 : ready - now());
}

std::int64_t SharedMemory::access(std::size_t index, const LoadRequest& request) {
  const isa::WarpInstruction& instruction = *request.instruction;
  const bool is_store = instruction.opcode == isa::Opcode::kStoreShared;
  loaded_bytes_ += is_store || instruction.operand == isa::Operand::kPartialSum ? 0 : instruction.d.bytes();
  const std::int64_t wavefronts =
      base::ceil_div(is_store ? instruction.a.bytes() : instruction.d.bytes(), wavefront_bytes_) *
      instruction.conflict_ways;
  const std::int64_t through_banks = banks_.reserve(request.arrival_cycle, wavefronts * wavefront_bytes_);
  return std::max(through_banks, pace_[index].reserve(request.arrival_cycle, wavefronts * wavefront_cycles_));
}

std::int64_t SharedMemory::claim(base::Bytes bytes) {
  settle_writes();
  return banks_.reserve(now(), bytes.count());
}

void SharedMemory::settle_writes() {
  serve();
  take_writes(now());
}

void SharedMemory::take_writes(std::int64_t cycle) {
  for (; !writes_.empty() && writes_.front().arrival_cycle < cycle; writes_.pop_front()) {
    const Write& write = writes_.front();
    *write.through = banks_.reserve(write.arrival_cycle, write.bytes);
  }
}

}  // namespace sptc::sm
