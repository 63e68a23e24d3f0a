// SPDX-License-Identifier: Apache-2.0
#include "sim/api/handles.h"
#include "sim/report/complete_report.h"
#include "sim/run/simulator.h"

#include <algorithm>
#include <sptcsim/simulate.h>
#include <thread>

// libsystemc asks for sc_main. A program that has its own main() never calls it; one that has an
// sc_main() gets its own.
extern "C" __attribute__((weak)) int sc_main(int /*argc*/, char* /*argv*/[]) {
  return 0;
}

namespace sptcsim {
namespace {

constexpr int kMostWorkers = 1024;

std::size_t workers_of(int asked) {
  if (asked < 0 || asked > kMostWorkers) {
    throw InputError("a Simulator has 1 to " + std::to_string(kMostWorkers) +
                     " workers, or 0 for one per processor, not " + std::to_string(asked));
  }
  return asked > 0 ? static_cast<std::size_t>(asked) : std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

struct Simulator::State {
  explicit State(int workers) : simulator(workers_of(workers), sptc::report::complete_json_report) {}

  sptc::run::Simulator simulator;
};

Simulator::Simulator(int workers) : state_(std::make_unique<State>(workers)) {}
Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;
Simulator& Simulator::operator=(Simulator&&) noexcept = default;

Result Simulator::simulate(const Workload& workload, const Architecture& architecture, const Options& options,
                           const Hooks& hooks) {
  simulation_options(options);  // what is wrong with them is said before anything starts
  return result_of(state_->simulator.simulate({workload.state().text, architecture.state().text(), options},
                                              hooks.progress, hooks.poll));
}

Result simulate(const Workload& workload, const Architecture& architecture, const Options& options,
                const Hooks& hooks) {
  // Never destroyed: a thread may still be in a call when the program ends.
  static auto* const kShared = new Simulator;
  return kShared->simulate(workload, architecture, options, hooks);
}

}  // namespace sptcsim
