// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/importer/recording_reader.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/config/board_names.h"
#include "sim/io/text_file.h"
#include "sim/workload/blas/readers.h"
#include "sim/workload/input/json_head.h"
#include "sim/workload/onnx/reader.h"
#include "sim/workload/open_dims.h"
#include "sim/workload/profile/readers.h"
#include "sim/workload/topology/readers.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace sptc::workload::importer {
namespace {

constexpr std::size_t kMaxWorkloadBytes = 16 << 20;

/// What tells one format from another.
struct Head {
  std::string_view text;
  std::vector<std::string> keys;  ///< of a JSON object

  bool has(std::string_view key) const {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  }
  /// Whether the first line names the columns m, n and k.
  bool names_columns() const {
    const std::string line = base::lower_case(text.substr(0, text.find_first_of("\r\n")));
    return ("," + line + ",").find(",m,") != std::string::npos;
  }
};

void read_own_json(input::InputStream& input, const ImportOptions& options, Recording& recording) {
  recording.workload =
      parse_workload_json(input.rest(kMaxWorkloadBytes), input.path(), options.dims);
}

void read_own_csv(input::InputStream& input, const ImportOptions& options, Recording& recording) {
  recording.workload =
      parse_workload_csv(input.rest(kMaxWorkloadBytes), input.path(), options.convention);
}

/// Chrome's trace as a bare array of events.
bool is_bare_trace(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '[' &&
         text.find("\"ph\"") != std::string_view::npos;
}

struct Format {
  std::string_view name;  ///< empty: a workload of our own
  bool (*recognises)(const Head& head);
  void (*read)(input::InputStream& input, const ImportOptions& options, Recording& recording);
  bool has_dims = false;  ///< leaves dimensions open
};

/// In the order in which they are tried.
constexpr Format kFormats[] = {
    {"", [](const Head& head) { return head.has("schema") && head.has("ops"); }, read_own_json,
     true},
    {"PyTorch profile",
     [](const Head& head) {
       return head.has("traceEvents") || head.has("deviceProperties") ||
              head.has("schemaVersion") || is_bare_trace(head.text);
     },
     profile::read_kineto},
    {"PyTorch execution trace",
     [](const Head& head) { return head.has("schema") && head.has("nodes"); },
     profile::read_execution_trace},
    {"export of Nsight Systems",
     [](const Head& head) { return head.text.starts_with("SQLite format 3"); }, profile::read_nsys},
    {"profile of CUTLASS", [](const Head& head) { return blas::is_cutlass_profile(head.text); },
     blas::read_cutlass_profile},
    {"ONNX model", [](const Head& head) { return onnx::is_onnx(head.text); }, onnx::read_onnx,
     true},
    {"log of a BLAS library", [](const Head& head) { return blas::is_blas_log(head.text); },
     blas::read_blas_log},
    {"trace of SASS instructions",
     [](const Head& head) { return profile::is_sass_trace(head.text); }, profile::read_sass_trace},
    {"topology of SCALE-Sim", [](const Head& head) { return topology::is_scale_sim(head.text); },
     topology::read_scale_sim},
    {"model configuration of Hugging Face", [](const Head& head) { return head.has("model_type"); },
     topology::read_transformer_config, true},
};

bool is_json(const Head& head) {
  const std::size_t first = head.text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (head.text[first] == '{' || head.text[first] == '[');
}

/// Output of other programs that has no shapes of GEMMs: what it is.
std::string_view without_shapes(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> kMarks[] = {
      {"==PROF==", "a report of Nsight Compute"},
      {"\"Kernel Name\"", "a report of Nsight Compute"},
      {"[TRT]", "a log of TensorRT"},
      {"&&&& RUNNING TensorRT", "a log of TensorRT"},
      {"AUTOTUNE ", "a log of PyTorch's Inductor"},
      {"workload_graph", "a graph of Chakra"}};
  const auto found = std::find_if(std::begin(kMarks), std::end(kMarks), [&](const auto& mark) {
    return text.find(mark.first) != std::string_view::npos;
  });
  return found == std::end(kMarks) ? "" : found->second;
}

/// What no format recognises may still be a workload of our own with a fault, which its reader
/// names.
const Format& own_format(const Head& head, const input::InputStream& input) {
  static constexpr Format kJson{"", nullptr, read_own_json, true};
  static constexpr Format kCsv{"", nullptr, read_own_csv};
  const std::string extension = input.path().extension().string();
  if (const std::string_view what = without_shapes(head.text); !what.empty()) {
    throw base::InputError(fmt::format(
        "{}: {} says no m, n and k; traces/README.md names the recordings that are read",
        input.name(), what));
  }
  if (is_json(head)) {
    if (!head.keys.empty() && !head.has("schema") && !head.has("ops")) {
      throw base::InputError(fmt::format(
          "{}: this JSON is neither a workload (\"schema\": \"gemm-workload/0.2\", see "
          "traces/README.md) nor a recording that is read here: its keys are {}",
          input.name(),
          io::printable(fmt::format(
              "{}", fmt::join(head.keys.begin(),
                              head.keys.begin() + static_cast<std::ptrdiff_t>(
                                                      std::min<std::size_t>(8, head.keys.size())),
                              ", ")))));
    }
    return kJson;
  }
  if (extension == ".json") {
    return kJson;
  }
  if (extension == ".csv" || head.names_columns()) {
    return kCsv;
  }
  throw base::InputError(
      input.name() +
      ": neither a workload nor a recording that is read here (see traces/README.md)");
}

const Format& format_of(const Head& head, const input::InputStream& input) {
  for (const Format& format : kFormats) {
    if (format.recognises(head)) {
      return format;
    }
  }
  return own_format(head, input);
}

}  // namespace

bool is_recording(const input::InputStream& input) {
  const Head head{input.head(), input::top_level_keys(input.head())};
  return is_json(head) ||
         std::any_of(std::begin(kFormats), std::end(kFormats),
                     [&](const Format& format) { return format.recognises(head); });
}

Recording read_recording(input::InputStream& input, const ImportOptions& options) {
  const Head head{input.head(), input::top_level_keys(input.head())};
  const Format& format = format_of(head, input);
  if (!format.has_dims && !options.dims.empty()) {
    OpenDims(options.dims, input.name()).refuse_unused();
  }
  if (format.read != onnx::read_onnx && !options.inputs.empty()) {
    throw base::InputError(
        fmt::format("--input: only an ONNX model has inputs, and {} is none", input.name()));
  }
  if (format.read != read_own_csv && options.convention != Convention::kWeightFirst) {
    throw base::InputError(fmt::format(
        "--convention: only a CSV of m, n, k leaves it open, and {} is none", input.name()));
  }
  Recording recording;
  recording.account.format = format.name;
  if (!format.name.empty()) {
    recording.workload.file = input.path();
    recording.workload.name = input.path().stem().string();
    recording.workload.source = fmt::format("{}: {}", input.name(), format.name);
  }
  format.read(input, options, recording);
  if (!input.choice().empty()) {
    recording.workload.notes.insert(recording.workload.notes.begin(), input.choice());
  }
  if (!recording.account.gpu.empty()) {
    const std::string board = config::board_name(recording.account.gpu);
    recording.account.arch = board == recording.account.gpu ? "" : board;
  }
  return recording;
}

std::vector<Recording> read_recordings(const std::filesystem::path& path, const DimLists& lists,
                                       const ImportOptions& options) {
  const std::vector<NamedDims> all = combinations(lists);
  if (path == "-" && all.size() > 1) {
    throw base::InputError(
        "--dim: standard input is read once, so each dimension has one value; name a file instead");
  }
  std::vector<Recording> recordings;
  for (const NamedDims& dims : all) {
    ImportOptions here = options;
    here.dims = dims;
    recordings.push_back(read_recording(path, here));
  }
  return recordings;
}

Recording read_recording(const std::filesystem::path& path, const ImportOptions& options) {
  input::InputStream input(path);
  return read_recording(input, options);
}

}  // namespace sptc::workload::importer
