// SPDX-License-Identifier: Apache-2.0
#include "sim/run/systemc_timer.h"

#include "sim/base/cache_tags.h"
#include "sim/gpu/analytic_gemm.h"
#include "sim/io/text_file.h"
#include "sim/kernels/gemm_operands.h"
#include "sim/run/worker_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <dlfcn.h>
#include <exception>
#include <filesystem>
#include <list>
#include <string_view>
#include <utility>

namespace sptc::run {

std::shared_ptr<KnownLaunches> known_launches(const gpu::GpuSpec& gpu, bool extrapolate) {
  constexpr std::size_t kMostGpus = 8;
  struct OfGpu {
    gpu::GpuSpec gpu;
    bool extrapolate;
    std::shared_ptr<KnownLaunches> launches;
  };
  static std::list<OfGpu> all;  // the latest in front
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const OfGpu& one) { return one.extrapolate == extrapolate && one.gpu == gpu; });
  if (found == all.end()) {
    all.push_front({gpu, extrapolate, std::make_shared<KnownLaunches>()});
    if (all.size() > kMostGpus) {
      all.pop_back();
    }
  } else {
    all.splice(all.begin(), all, found);
  }
  return all.front().launches;
}

namespace {

constexpr const char* kSymbol = "sptcsim_memory_plugin";

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  io::refuse("--memory {}: {}", io::printable(file), why);
}

}  // namespace

LoadedMemory::LoadedMemory(const std::string& file) : file_(file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    refuse(file, "there is no such file");
  }
  // The whole path: a bare name is looked for among the system's libraries.
  const std::string path = std::filesystem::absolute(file, error).string();
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    refuse(file, "it cannot be loaded: " + io::printable(::dlerror()));
  }
  const void* const found = ::dlsym(library, kSymbol);
  if (found == nullptr) {
    refuse(file, fmt::format("it is no memory plugin: it does not define {}", kSymbol));
  }
  plugin_ = static_cast<const sptcsim::MemoryPlugin*>(found);
  if (plugin_->abi != sptcsim::kMemoryPluginAbi) {
    refuse(file, fmt::format("it was built for version {} of the plugin interface, and this "
                             "program has version {}",
                             plugin_->abi, sptcsim::kMemoryPluginAbi));
  }
  if (std::string_view(plugin_->systemc) != SC_VERSION) {
    refuse(file, fmt::format("it was built with SystemC {}, and this program with {}", io::printable(plugin_->systemc),
                             SC_VERSION));
  }
  if (plugin_->library != &sc_core::sc_curr_simcontext) {
    refuse(file, "it runs with another SystemC library than this program");
  }
}

std::string LoadedMemory::description() const {
  return io::printable(plugin_->description);
}

LoadedMemory::Dram LoadedMemory::make(const std::string& config, double gb_per_s, double sm_clock_mhz) const {
  const sptcsim::MemorySettings settings{"outside_dram", config.c_str(), gb_per_s, sm_clock_mhz,
                                         base::CacheTags::kBlockBytes};
  try {
    return {plugin_->make(settings), plugin_->destroy};
  } catch (const sc_core::sc_report& report) {
    refuse(file_, io::printable(report.get_msg()));
  } catch (const std::exception& error) {
    refuse(file_, io::printable(error.what()));
  }
}

SystemCTimer::SystemCTimer(const gpu::GpuSpec& gpu, const SimulationOptions& options,
                           std::vector<gpu::Observer*> observers)
    : gpu_(gpu), options_(options), observers_(std::move(observers)) {
  if (!options.memory.empty()) {
    memory_.emplace(options.memory);
  }
}

SystemCTimer::~SystemCTimer() {
  take_down();
}

void SystemCTimer::take_down() {
  if (context_) {
    const base::SimulationContext::Current inside(*context_);
    dram_.reset();
    simulator_.reset();
  }
  context_.reset();
}

gpu::GemmRun SystemCTimer::launch(const kernels::GemmProblem& problem, const kernels::KernelOverrides& overrides,
                                  const std::vector<kernels::GemmOperands>* operands) {
  if (operands != nullptr || memory_ || !observers_.empty()) {
    return simulate(problem, overrides, operands);
  }
  AskedLaunch asked = at_its_clock({problem, overrides});
  auto found = known().find(asked);
  if (found == known().end()) {
    found = known().emplace(std::move(asked), simulate(problem, overrides, nullptr)).first;
  }
  return {found->second, {}};
}

KnownLaunches& SystemCTimer::known() {
  if (!known_) {
    known_ = known_launches(gpu_, options_.extrapolates());
  }
  return *known_;
}

AskedLaunch SystemCTimer::at_its_clock(AskedLaunch launch) const {
  kernels::LaunchConditions& conditions = launch.first.conditions;
  conditions.clock_mhz = options_.clock_policy.mhz_of(conditions, gpu_.boost_clock_mhz);
  return launch;
}

void SystemCTimer::simulate_ahead(const std::vector<AskedLaunch>& launches, int jobs,
                                  const std::function<void(std::size_t)>& done) {
  std::vector<AskedLaunch> unknown;
  for (const AskedLaunch& launch : launches) {
    if (!known().contains(at_its_clock(launch))) {
      unknown.push_back(launch);
    }
  }
  if (unknown.size() < 2) {
    return;
  }
  std::size_t ended = launches.size() - unknown.size();
  for_each_in_workers(
      static_cast<std::size_t>(jobs), unknown.size(),
      [&](std::size_t i) {
        const auto& [problem, overrides] = unknown[i];
        return bytes_of<gpu::LaunchFigures>({simulate(problem, overrides, nullptr)});
      },
      [&](std::size_t i, WorkerPool::Event event) {
        if (event.kind == WorkerPool::Event::Kind::kAnswer) {
          known().emplace(at_its_clock(unknown[i]), rows_of<gpu::LaunchFigures>(event.bytes).at(0));
        }
        done(++ended);
      });
}

gpu::GemmRun SystemCTimer::simulate(const kernels::GemmProblem& problem, const kernels::KernelOverrides& overrides,
                                    const std::vector<kernels::GemmOperands>* operands) {
  // A DRAM outside has a time of its own, so that of SystemC is the clock of the launch.
  const double mhz = memory_ ? options_.clock_policy.mhz_of(problem.conditions, gpu_.boost_clock_mhz) : mhz_;
  if (mhz != mhz_) {
    take_down();
  }
  if (!context_) {
    context_.emplace();
  }
  const base::SimulationContext::Current inside(*context_);
  if (!simulator_) {
    elaborate(mhz);
  }
  simulator_->set_clock(options_.clock_policy);
  return simulator_->run(problem, overrides, operands);
}

void SystemCTimer::elaborate(double mhz) {
  gpu::GemmSimulator::Options build;
  build.extrapolate = options_.extrapolates();
  build.observers = observers_;
  if (memory_) {
    dram_ = memory_->make(options_.memory_config, gpu_.memory.dram_gb_per_s, mhz);
    build.bind_dram = [this](tlm::tlm_initiator_socket<>& l2) { l2.bind((*dram_)->socket()); };
    build.elaborated_mhz = mhz;
    mhz_ = mhz;
  }
  simulator_.emplace(gpu_, build);
}

std::unique_ptr<gpu::Timer> make_timer(const gpu::GpuSpec& gpu, const SimulationOptions& options) {
  if (options.fidelity == Fidelity::kAnalytic) {
    return std::make_unique<gpu::ClosedFormTimer>(gpu, options.clock_policy);
  }
  return std::make_unique<SystemCTimer>(gpu, options);
}

}  // namespace sptc::run
