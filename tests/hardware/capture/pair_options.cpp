// SPDX-License-Identifier: Apache-2.0
#include "tests/hardware/capture/pair_options.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "tests/hardware/capture/gemm_data.h"

#include <algorithm>
#include <array>
#include <ratio>

namespace sptc::hardware {
namespace {

using numerics::DataType;

constexpr double kMinutes = 8;
constexpr double kQuickMinutes = 2;

DataType parse_dtype(std::string_view what, std::string_view word, std::span<const std::string_view> allowed) {
  if (std::find(allowed.begin(), allowed.end(), word) == allowed.end()) {
    throw base::InputError("unknown " + std::string(what) + " " + base::unknown_name(word, allowed));
  }
  return *numerics::parse_data_type(word);
}

/// Every word once, in the order of its first.
template <typename Parse>
auto parse_all(const std::vector<std::string>& words, Parse parse) {
  std::vector<decltype(parse(words.front()))> values;
  for (const std::string& word : words) {
    const auto value = parse(word);
    if (std::find(values.begin(), values.end(), value) == values.end()) {
      values.push_back(value);
    }
  }
  return values;
}

/// A type of results that no type of operands has would leave nothing to time.
void require_results(const PairProgramme& programme) {
  for (const DataType d_dtype : programme.d_dtypes) {
    const bool is_used = std::any_of(programme.dtypes.begin(), programme.dtypes.end(), [&](DataType dtype) {
      const std::vector<DataType> results = result_types(dtype);
      return std::find(results.begin(), results.end(), d_dtype) != results.end();
    });
    if (!is_used) {
      throw base::InputError("--d-dtype: no operands of --dtype give results of " +
                             std::string(numerics::name(d_dtype)));
    }
  }
}

}  // namespace

void PairOptions::add_to(CLI::App& app) {
  const std::string group = "Pairs of dense and 2:4 GEMMs (lists: with commas, the usual one first)";
  const auto list = [&](const char* name, std::vector<std::string>& words, const char* what) {
    app.add_option(name, words, what)->delimiter(',')->group(group)->capture_default_str();
  };
  list("--dtype", dtypes_, "types of operands");
  list("--d-dtype", d_dtypes_, "types of results (default: all that the operands can give)");
  list("--l2", l2_,
       "cold: flushed before each launch; warm: the same buffers over and over; rotate:N: N weights "
       "in turn");
  list("--launch", launches_,
       "stream: back to back, timed as a whole; graph: the same in a CUDA graph; eager: the host "
       "waits for each");
  list("--algorithm", algorithms_, "of libraries; heuristic: the first that is offered; best: the fastest of those");
  app.add_option("--warmup", warmup_, "launches before those that count")
      ->check(CLI::Range(0, 10000))
      ->group(group)
      ->capture_default_str();
  app.add_option("--repeat", repeat_, "launches that count")
      ->check(CLI::Range(1, 10000))
      ->group(group)
      ->capture_default_str();
  app.add_option("--pair-shapes", shapes_, "CSV m,n,k,name (default: pair_shapes.csv of the kit)")->group(group);
  app.add_option("--pair-minutes", minutes_, "no pair begins after as many (default 8, quick 2)")
      ->check(CLI::Range(0.001, 600.0))
      ->group(group);
}

PairProgramme PairOptions::programme(const std::filesystem::path& data, std::uint64_t seed, bool quick) const {
  constexpr std::array<std::string_view, 4> kOperands{"f16", "bf16", "s8", "e4m3"};
  constexpr std::array<std::string_view, 6> kResults{"f32", "f16", "bf16", "s8", "e4m3", "s32"};
  PairProgramme programme;
  programme.dtypes =
      parse_all(dtypes_, [&](const std::string& word) { return parse_dtype("--dtype", word, kOperands); });
  programme.d_dtypes =
      parse_all(d_dtypes_, [&](const std::string& word) { return parse_dtype("--d-dtype", word, kResults); });
  programme.l2 = parse_all(l2_, [](const std::string& word) { return kernels::parse_l2_state("--l2", word); });
  programme.launches =
      parse_all(launches_, [](const std::string& word) { return kernels::parse_launch_mode("--launch", word); });
  programme.algorithms =
      parse_all(algorithms_, [](const std::string& word) { return kernels::parse_algorithm("--algorithm", word); });
  require_results(programme);
  programme.repetition = {warmup_, repeat_};
  programme.shapes = shapes_.empty() ? data / "hardware/pair_shapes.csv" : std::filesystem::path(shapes_);
  if (!shapes_.empty()) {
    read_gemm_shapes(shapes_);  // a bad list of the user is refused before anything is measured
  }
  programme.seed = seed;
  programme.quick = quick;
  programme.time = std::chrono::duration<double, std::ratio<60>>(minutes_ > 0 ? minutes_
                                                                 : quick      ? kQuickMinutes
                                                                              : kMinutes);
  return programme;
}

}  // namespace sptc::hardware
