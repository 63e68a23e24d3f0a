// SPDX-License-Identifier: Apache-2.0
#include "sim/run/simulator.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"
#include "sim/run/option_table.h"
#include "sim/run/run.h"
#include "sim/run/simulate.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <unistd.h>
#include <utility>

namespace sptc::run {
namespace {

using nlohmann::json;

constexpr const char* kConfigurations = "SPTCSIM_CONFIG_DIR";

/// `request` as CBOR, whose strings may hold any bytes.
std::string encoded(const SimulationRequest& request) {
  json message{{"options", request.options},
               {"what_ifs", request.what_ifs},
               {"explained", request.explained},
               {"workload", request.workload.text},
               {"workload_file", request.workload.file.string()},
               {"dims", request.workload.dims},
               {"architecture", request.architecture.document},
               {"architecture_file", request.architecture.file},
               {"bases", request.architecture.bases}};
  std::error_code error;  // of a directory that is gone: paths that need it will say so
  message["directory"] = std::filesystem::current_path(error).string();
  const char* const configurations = std::getenv(kConfigurations);
  if (configurations != nullptr) {
    message["configurations"] = configurations;
  }
  std::string bytes;
  json::to_cbor(message, bytes);
  return bytes;
}

/// Moves to the directory and the configurations of the caller.
void move_to_caller(const json& message) {
  const auto& directory = message.at("directory").get_ref<const std::string&>();
  if (!directory.empty() && ::chdir(directory.c_str()) != 0) {
    throw base::InputError(io::printable(directory) +
                           ": the working directory cannot be entered: " + std::strerror(errno));
  }
  const auto found = message.find("configurations");
  if (found == message.end()) {
    ::unsetenv(kConfigurations);
  } else {
    ::setenv(kConfigurations, found->get_ref<const std::string&>().c_str(), 1);
  }
}

class LatestArchitecture {
 public:
  const config::Architecture& of(const json& message) {
    config::ArchitectureText text{message.at("architecture").get<std::string>(),
                                  message.at("architecture_file").get<std::string>(),
                                  message.at("bases").get<std::vector<std::string>>()};
    if (!value_ || text != text_) {
      value_ = config::to_architecture(text);
      text_ = std::move(text);
    }
    return *value_;
  }

 private:
  config::ArchitectureText text_;
  std::optional<config::Architecture> value_;
};

/// Answers in the worker.
std::string answer(std::string_view request, const WorkerPool::Send& send, LatestArchitecture& architectures,
                   const Simulator::Report& report) {
  const json message = json::from_cbor(request);
  move_to_caller(message);
  const config::Architecture& architecture = architectures.of(message);
  const workload::Workload workload =
      workload::to_workload({message.at("workload").get<std::string>(), message.at("workload_file").get<std::string>(),
                             message.at("dims").get<workload::NamedDims>()});
  SimulationOptions options;
  for (const auto& [name, value] : message.at("options").items()) {
    set_option(options, name, value.get<std::string>());
  }
  options.what_ifs = message.at("what_ifs").get<bool>();
  SimulationHooks hooks;
  hooks.progress = sent_progress(send);
  RunResult result = simulate(workload, architecture, options, hooks);
  result.explained = message.at("explained").get<bool>();
  return report(std::move(result), workload, architecture, options);
}

}  // namespace

Simulator::Simulator(std::size_t workers, Report report)
    : most_(workers),
      handler_([report = std::move(report), architectures = std::make_shared<LatestArchitecture>()](
                   std::string_view request, const WorkerPool::Send& send) {
        return answer(request, send, *architectures, report);
      }),
      owner_(::getpid()) {
  base::ensure(workers > 0, "a Simulator without workers");
}

std::string Simulator::simulate(const SimulationRequest& request, const ProgressCallback& progress,
                                const std::function<void()>& poll) {
  const std::string bytes = encoded(request);
  Waiting waiting;
  waiting.part = received_progress(progress);
  waiting.poll = poll;
  std::unique_ptr<WorkerPool> worker = take(poll);
  std::optional<WorkerPool::Event> event;
  try {
    event = request_of_one(*worker, bytes, waiting);
  } catch (...) {
    give_back(std::move(worker));
    throw;
  }
  give_back(std::move(worker));
  return answer_of(std::move(*event));
}

std::unique_ptr<WorkerPool> Simulator::take(const std::function<void()>& poll) {
  constexpr std::chrono::milliseconds kPollInterval{100};
  std::unique_lock lock(mutex_);
  if (owner_ != ::getpid()) {
    owner_ = ::getpid();
    busy_ = 0;
  }
  while (idle_.empty() && busy_ == most_) {
    returned_.wait_for(lock, kPollInterval);
    if (poll) {
      lock.unlock();
      poll();
      lock.lock();
    }
  }
  ++busy_;
  if (idle_.empty()) {
    lock.unlock();
    try {
      return std::make_unique<WorkerPool>(1, handler_);
    } catch (...) {
      lock.lock();
      --busy_;
      throw;
    }
  }
  std::unique_ptr<WorkerPool> worker = std::move(idle_.back());
  idle_.pop_back();
  return worker;
}

void Simulator::give_back(std::unique_ptr<WorkerPool> worker) {
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(worker));
    --busy_;
  }
  returned_.notify_one();
}

}  // namespace sptc::run
