// SPDX-License-Identifier: Apache-2.0
#include "models/base/error.h"
#include "sim/sweep/plan.h"
#include "sim/sweep/point.h"
#include "sim/sweep/sweep_report.h"
#include "sim/sweep/sweep_status.h"
#include "sim/sweep/sweep_store.h"
#include "tests/fuzz/readers.h"
#include "tests/support/put_file.h"
#include "tests/support/temporary_directory.h"

#include <nlohmann/json.hpp>

#include <array>
#include <string>
#include <string_view>

namespace sptc::fuzz {
namespace {

void read_sweep_spec(const std::string& bytes) {
  const sweep::SweepPlan plan(sweep::parse_sweep_spec(bytes, "f.json"));
  plan.digest();
  plan.hash(plan.point(plan.product() - 1));
}

void read_condition(const std::string& bytes) {
  static const std::array<std::string, 4> names = {"sms", "dtype", "stages", "clock"};
  static const std::array<nlohmann::json, 4> values = {108, "f16", true, 1.5};
  const sweep::Condition condition(bytes, names, {"f.json", "/where/0"});
  condition.holds([](std::size_t axis) -> const nlohmann::json& { return values.at(axis); });
}

void read_sweep_results(const std::string& bytes) {
  static const support::TemporaryDirectory directory;
  static const std::filesystem::path whole =
      std::filesystem::path(SPTC_SOURCE_DIR) / "tests/fuzz/corpus/sweep_results/whole.sqlite";
  const std::filesystem::path file = directory.path() / "f.sqlite";
  support::put_file(file, bytes);
  for (const char* const format : {"csv", "markdown", "html"}) {
    sweep::sweep_report(file, format);
  }
  const std::array<std::filesystem::path, 2> parts = {file, whole};
  sweep::merge_sweeps(parts, directory.path() / "merged.sqlite", true);
}

/// What a worker process answers.
void read_worker_answer(const std::string& bytes) {
  std::string_view rest = bytes;
  const auto outcome = sweep::take_outcome(rest);
  if (!outcome) {
    throw base::InputError("no whole outcome");
  }
  std::string again;
  sweep::append_bytes(*outcome, again);
}

void read_run_mark(const std::string& bytes) {
  static const support::TemporaryDirectory directory;
  support::put_file(directory.path() / "f.sqlite.run", bytes);
  if (!sweep::read_run_mark(directory.path() / "f.sqlite")) {
    throw base::InputError("no mark of a sweep");
  }
}

constexpr Reader kReaders[] = {
    {"sweep_spec", Content::kJson, read_sweep_spec, 1000},
    {"condition", Content::kText, read_condition},
    {"sweep_results", Content::kBytes, read_sweep_results, 200},
    {"worker_answer", Content::kBytes, read_worker_answer},
    {"run_mark", Content::kJson, read_run_mark},
};

}  // namespace

std::span<const Reader> sweep_readers() {
  return kReaders;
}

}  // namespace sptc::fuzz
