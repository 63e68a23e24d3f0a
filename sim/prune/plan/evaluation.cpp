// SPDX-License-Identifier: Apache-2.0
#include "sim/prune/plan/evaluation.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"
#include "sim/prune/plan/command.h"
#include "sim/prune/plan/guard_process.h"
#include "sim/prune/prune_model.h"
#include "sim/run/worker_pool.h"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace sptc::prune::plan {
namespace {

constexpr std::string_view kPlace = "{}";
constexpr const char* kVariable = "SPTCSIM_MODEL";

/// A directory for models that live as long as their evaluation. A guard removes it.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::error_code error;
    const auto parent = std::filesystem::temp_directory_path(error);
    std::string path = ((error ? "/tmp" : parent) / "sptcsim-plan-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) {
      const int why = errno;
      io::refuse("no directory for pruned models can be made: {}: {}", io::printable(path), std::strerror(why));
    }
    path_ = path;
    const auto remove = [path = path_] {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    };
    try {
      guard_.emplace(remove);
    } catch (...) {
      remove();
      throw;
    }
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::optional<GuardProcess> guard_;
};

/// A model is written in the form that it has; shards are a directory.
std::string file_name(const std::filesystem::path& model) {
  const std::string ending = model.extension().string();
  return ending == ".json" || std::filesystem::is_directory(model) ? "model" : "model" + ending;
}

double number_of(const CommandResult& result, const std::string& of_model, const Evaluation& evaluation) {
  const std::string begin =
      fmt::format("the evaluation command '{}' of {}", io::printable(evaluation.command), of_model);
  const std::string end = result.last_error.empty() ? "" : ": " + io::printable(result.last_error);
  if (result.exit_code < 0) {
    throw base::InputError(result.signal == 0 ? fmt::format("{} took longer than {} s", begin, evaluation.timeout_s)
                                              : fmt::format("{} was ended by signal {}{}", begin, result.signal, end));
  }
  if (result.exit_code > 0) {
    io::refuse("{} ended with exit code {}{}", begin, result.exit_code, end);
  }
  double value = 0;
  if (!io::parse_whole(result.last_line, value) || !std::isfinite(value)) {
    io::refuse("{} must print a number on its last line, not '{}'", begin, io::printable(result.last_line));
  }
  return value;
}

/// Evaluates in a worker.
double evaluated(const std::filesystem::path& model, const EvaluatedModel& which,
                 const std::filesystem::path& directory, const prune::PruneOptions& pruning,
                 const Evaluation& evaluation) {
  std::filesystem::path path = std::filesystem::absolute(model);
  if (!which.pruned.empty()) {
    std::filesystem::create_directory(directory);
    const std::filesystem::path list = directory / "layers.txt";
    io::write_file(list, workload::layer_list_text(which.pruned, ""));
    path = directory / file_name(model);
    prune::PruneOptions options = pruning;
    options.layers = "@" + list.string();
    options.exclude.clear();
    prune::prune_model(model, path, {}, options);
  }
  std::vector<std::string> words = command_words(evaluation.command);
  for (std::string& word : words) {
    for (std::size_t at = word.find(kPlace); at != std::string::npos;
         at = word.find(kPlace, at + path.string().size())) {
      word.replace(at, kPlace.size(), path.string());
    }
  }
  const CommandResult result = run_command(words, {kVariable, path.string()}, evaluation.timeout_s);
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  return number_of(
      result,
      which.pruned.empty() ? "the dense model" : fmt::format("the model with '{}' pruned", io::printable(which.name)),
      evaluation);
}

}  // namespace

std::vector<double> metrics_of(const std::filesystem::path& model, const std::vector<EvaluatedModel>& models,
                               const prune::PruneOptions& pruning, const Evaluation& evaluation,
                               const std::function<void(std::size_t done, std::size_t total)>& progress) {
  const TemporaryDirectory directory;
  std::vector<double> metrics(models.size());
  std::size_t done = 0;
  run::for_each_in_workers(
      static_cast<std::size_t>(evaluation.jobs), models.size(),
      [&](std::size_t i) {
        return run::bytes_of(std::vector<double>{
            evaluated(model, models[i], directory.path() / std::to_string(i), pruning, evaluation)});
      },
      [&](std::size_t i, run::WorkerPool::Event event) {
        metrics[i] = run::rows_of<double>(run::answer_of(std::move(event))).front();
        ++done;
        if (progress) {
          progress(done, models.size());
        }
      });
  return metrics;
}

}  // namespace sptc::prune::plan
