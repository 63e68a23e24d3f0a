// SPDX-License-Identifier: Apache-2.0
#include "sim/check/capture/capture.h"

#include "models/base/text.h"
#include "models/mma/catalogue.h"
#include "sim/config/architecture.h"
#include "sim/config/board_names.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"
#include "sim/run/simulation_options.h"

#include <algorithm>
#include <array>
#include <functional>
#include <system_error>

namespace sptc::check::capture {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kSchema = "sptcsim-capture/0.1";
constexpr std::uint64_t kMaxJsonBytes = 64 << 20;
constexpr std::int64_t kMaxGemmExtent = 1 << 30;
constexpr std::int64_t kMaxCount = 1'000'000;

std::string one_of(const io::JsonObject& object, std::string_view key,
                   std::initializer_list<std::string_view> allowed) {
  object.require(key);
  return std::string(allowed.begin()[object.choice(key, {allowed.begin(), allowed.size()})]);
}

bool has_value(const io::JsonObject& object, std::string_view key) {
  return object.has(key) && !object.require(key).is_null();
}

/// A text that may be null or absent.
std::string text_or_null(const io::JsonObject& object, std::string_view key) {
  return has_value(object, key) ? object.text(key) : "";
}

/// A number above zero that may be null or absent.
std::optional<double> number_or_null(const io::JsonObject& object, std::string_view key) {
  if (!has_value(object, key)) {
    return std::nullopt;
  }
  constexpr double kLeast = 1e-9, kMost = 1e18;  // of bytes, times, clocks and rates
  const json& value = object.require(key);
  const double number = value.is_number() ? value.get<double>() : 0;
  if (!(number >= kLeast && number <= kMost)) {
    (object.place() / key).fail("must be a number from 1e-9 to 1e18 or null, not {}", io::describe(value));
  }
  return number;
}

CaptureStatus status_of(const io::JsonObject& object) {
  CaptureStatus result;
  result.status = one_of(object, "status", {"ok", "partial", "failed", "absent"});
  result.reason = text_or_null(object, "reason");
  return result;
}

/// Calls `read` for every element, all objects, of the array at `key`.
void each_row(const io::JsonObject& object, std::string_view key,
              const std::function<void(const io::JsonObject&)>& read) {
  const json& rows = object.require(key);
  if (!rows.is_array()) {
    (object.place() / key).fail("must be an array, not " + io::describe(rows));
  }
  std::size_t index = 0;
  for (const json& row : rows) {
    read(io::JsonObject(row, object.place() / key / index++));
  }
}

/// Parses a file with a schema and rows.
void parse_rows(std::string_view text, const std::string& file, const std::function<void(const io::JsonObject&)>& read,
                std::string_view key = "rows") {
  const json document = io::parse_json(text, file);
  const io::JsonObject object(document, {file, ""});
  object.require_schema(kSchema);
  each_row(object, key, read);
}

/// Sets `value` to what `parse` makes of a key, which may be null or absent; its InputError names the place.
template <typename Parse, typename Value>
void parse_if_there(const io::JsonObject& object, std::string_view key, const Parse& parse, Value& value) {
  if (has_value(object, key)) {
    value = object.parsed(key, [&](const std::string& text) { return parse(key, io::printable(text)); });
  }
}

CapturedGemm gemm_of(const io::JsonObject& row) {
  CapturedGemm result;
  result.name = text_or_null(row, "name");
  result.m = row.integer("m", 1, kMaxGemmExtent);
  result.n = row.integer("n", 1, kMaxGemmExtent);
  result.k = row.integer("k", 1, kMaxGemmExtent);
  result.dtype = row.text("dtype");
  result.sparse = one_of(row, "variant", {"dense", "sparse"}) == "sparse";
  result.library = row.text("library");
  parse_if_there(row, "d_dtype", run::parse_d_dtype, result.d_dtype);
  parse_if_there(row, "algorithm", kernels::parse_algorithm, result.algorithm);
  result.data = row.has("data") ? one_of(row, "data", {"random", "zeros"}) : "random";
  result.outcome = status_of(row);
  return result;
}

std::vector<fs::path> entries_of(const fs::path& directory, std::string_view extension) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (entry.path().extension() == extension) {
      found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::string MemoryRow::key(std::string_view name) const {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const auto& pair) { return pair.first == name; });
  return found == keys.end() ? "" : found->second;
}

void parse_capture_json(std::string_view text, const std::string& file, Capture& capture) {
  const json document = io::parse_json(text, file);
  const io::JsonObject object(document, {file, ""});
  object.require_schema(kSchema);
  capture.origin = one_of(object, "origin", {"measured", "published", "simulated"});
  capture.source = object.text("source");
  const io::JsonObject gpu = object.object("gpu");
  capture.gpu = gpu.text("name");
  capture.target = gpu.text("target");
  gpu.parsed("target", [](const std::string& name) { mma::find_target(name); });
  capture.architecture = text_or_null(gpu, "architecture");
  if (has_value(gpu, "sm_count")) {
    capture.sm_count = gpu.integer("sm_count", 1, kMaxCount);
  }
  capture.power_limit_w = number_or_null(gpu, "power_limit_w");
  capture.date = object.text_or("date", "");
  each_row(object, "items", [&](const io::JsonObject& item) {
    capture.items.push_back({item.text("name"), status_of(item)});
  });
  if (!object.has("bits")) {
    return;
  }
  for (const json& folder : object.array("bits")) {
    if (!folder.is_string() || folder.get<std::string>().empty()) {
      (object.place() / "bits").fail("must hold names of directories, not " + io::describe(folder));
    }
    capture.bits.push_back(capture.directory / folder.get<std::string>());
  }
}

void parse_probes_json(std::string_view text, const std::string& file, Capture& capture) {
  parse_rows(
      text, file,
      [&](const io::JsonObject& row) {
        ProbeRow& result = capture.probes.emplace_back();
        result.name = row.text("name");
        result.instruction = row.text("instruction");
        result.applies = row.boolean_or("applies", true);
        result.d = text_or_null(row, "d");
        result.outcome = status_of(row);
        if (row.has("supports") && row.require("supports").is_array()) {
          for (const json& hypothesis : row.require("supports")) {
            result.supports.push_back(hypothesis.is_string() ? io::printable(hypothesis.get<std::string>())
                                                             : io::describe(hypothesis));
          }
        }
      },
      "probes");
}

void parse_microbench_json(std::string_view text, const std::string& file, Capture& capture) {
  parse_rows(text, file, [&](const io::JsonObject& row) {
    MicrobenchRow& result = capture.microbench.emplace_back();
    result.instruction = row.text("instruction");
    result.warps = static_cast<int>(row.integer("warps", 1, 64));
    result.ilp = static_cast<int>(row.integer("ilp", 1, 64));
    result.data = text_or_null(row, "data");
    result.latency_cycles = number_or_null(row, "latency_cycles");
    result.fma_per_clk_per_sm = number_or_null(row, "fma_per_clk_per_sm");
    result.outcome = status_of(row);
  });
}

void parse_memory_json(std::string_view text, const std::string& file, Capture& capture) {
  constexpr std::array<std::string_view, 5> kFigures{"latency_cycles", "first_cycles", "bytes_per_clk_per_sm",
                                                     "gb_per_s", "time_us_median"};
  constexpr std::array<std::string_view, 6> kOther{"kind", "status", "reason", "source", "launches", "note"};
  parse_rows(text, file, [&](const io::JsonObject& row) {
    MemoryRow& result = capture.memory.emplace_back();
    result.kind = row.text("kind");
    result.outcome = status_of(row);
    for (const auto& [key, value] : row.value().items()) {
      if (std::find(kFigures.begin(), kFigures.end(), key) != kFigures.end()) {
        if (const auto figure = number_or_null(row, key)) {
          result.figures[key] = *figure;
        }
      } else if (std::find(kOther.begin(), kOther.end(), key) == kOther.end()) {
        result.keys.emplace_back(io::printable(key),
                                 value.is_string() ? io::printable(value.get<std::string>()) : io::describe(value));
      }
    }
  });
}

void parse_gemm_json(std::string_view text, const std::string& file, Capture& capture) {
  parse_rows(text, file, [&](const io::JsonObject& row) {
    CapturedGemm& result = capture.gemm.emplace_back(gemm_of(row));
    result.time_us = number_or_null(row, "time_us_median");
    result.clock_mhz = number_or_null(row, "clock_mhz");
    if (has_value(row, "check")) {
      const io::JsonObject check = row.object("check");
      result.check = {one_of(check, "mode", {"bits", "bound", "none"}),
                      static_cast<std::uint64_t>(check.integer_or("mismatches", 0, 0, std::int64_t{1} << 60))};
    }
  });
}

void parse_power_json(std::string_view text, const std::string& file, Capture& capture) {
  parse_rows(text, file, [&](const io::JsonObject& row) {
    CapturedGemm& result = capture.power.emplace_back(gemm_of(row));
    result.time_us = number_or_null(row, "time_us_mean");
    result.power_w = number_or_null(row, "power_w_mean");
    result.clock_mhz = number_or_null(row, "clock_mhz_mean");
  });
  const json document = io::parse_json(text, file);
  capture.idle_w = number_or_null(io::JsonObject(document, {file, ""}), "idle_w");
}

Capture read_capture(const fs::path& directory) {
  io::require_directory(directory);
  std::error_code error;
  Capture capture;
  capture.directory = directory;
  const auto parse = [&](const char* name, auto parser, bool needed) {
    const fs::path path = directory / name;
    if (needed || fs::exists(path, error)) {
      parser(io::read_text_file(path, kMaxJsonBytes), io::printable(path.string()), capture);
    }
  };
  parse("capture.json", parse_capture_json, true);
  if (capture.bits.empty() && fs::is_directory(directory / "bits", error) && !fs::is_empty(directory / "bits", error)) {
    capture.bits.push_back(directory / "bits");
  }
  for (const fs::path& folder : capture.bits) {
    if (!fs::is_directory(folder, error)) {
      io::refuse("{}: /bits: there is no directory '{}'", io::printable((directory / "capture.json").string()),
                 io::printable(folder.string()));
    }
  }
  capture.kernels = entries_of(directory / "kernels", ".json");
  parse("probes.json", parse_probes_json, false);
  parse("microbench.json", parse_microbench_json, false);
  parse("memory.json", parse_memory_json, false);
  parse("gemm.json", parse_gemm_json, false);
  parse("power.json", parse_power_json, false);
  return capture;
}

std::string architecture_of(const Capture& capture) {
  if (!capture.architecture.empty()) {
    return capture.architecture;
  }
  const std::vector<std::string> names = config::architecture_names();
  const auto is = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end() &&
           (!capture.sm_count || config::load_architecture(name).gpu.sms == *capture.sm_count);
  };
  if (std::string board = config::board_name(capture.gpu); is(board)) {
    return board;
  }
  if (!capture.sm_count) {
    return "";
  }
  // "NVIDIA A100-SXM-64GB" is an A100; which, its SMs say, the board that is called so first.
  const std::string card = capture.gpu.substr(capture.gpu.find(' ') + 1);
  const std::string word = card.substr(0, card.find_first_of(" -"));
  if (std::string board = config::board_name(word); is(board)) {
    return board;
  }
  const std::string family = base::plain_name(word);
  const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return name.substr(0, name.find('-')) == family && is(name);
  });
  return found == names.end() ? "" : *found;
}

}  // namespace sptc::check::capture
