// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/importer/recording_reader.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/config/board_names.h"
#include "sim/io/text_file.h"
#include "sim/workload/input/json_elements.h"
#include "sim/workload/open_dims.h"
#include "sim/workload/readers.h"
#include "sim/workload/workload_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

namespace sptc::workload::importer {
namespace {

constexpr std::size_t kMaxWorkloadBytes = 16 << 20;

void read_own_json(input::InputStream& input, const ImportOptions& options, Recording& recording) {
  recording.workload =
      parse_workload_json(input.rest(kMaxWorkloadBytes), input.path(), options.dims);
}

void read_own_csv(input::InputStream& input, const ImportOptions& options, Recording& recording) {
  recording.workload =
      parse_workload_csv(input.rest(kMaxWorkloadBytes), input.path(), options.convention);
}

constexpr Reader kOwnJson{"",
                          [](const Head& head) { return head.has("schema") && head.has("ops"); },
                          read_own_json, true};
constexpr Reader kOwnCsv{"", nullptr, read_own_csv};

/// In the order in which they are tried.
constexpr const Reader* kReaders[] = {
    &kOwnJson,       &profile::kKineto,      &profile::kExecutionTrace,
    &profile::kNsys, &blas::kCutlassProfile, &onnx::kModel,
    &blas::kLog,     &topology::kScaleSim,   &topology::kTransformerConfig};

/// The one that recognises `head`; null where none does.
const Reader* recognised(const Head& head) {
  const auto* const found = std::ranges::find_if(
      kReaders, [&](const Reader* reader) { return reader->recognises(head); });
  return found == std::end(kReaders) ? nullptr : *found;
}

bool is_json(const Head& head) {
  const std::size_t first = head.text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (head.text[first] == '{' || head.text[first] == '[');
}

/// Whether the first line names the columns m, n and k.
bool names_columns(std::string_view text) {
  const std::string line = base::lower_case(text.substr(0, text.find_first_of("\r\n")));
  return ("," + line + ",").find(",m,") != std::string::npos;
}

/// Output of other programs that has no shapes of GEMMs: what it is.
std::string_view without_shapes(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> kMarks[] = {
      {"==PROF==", "a report of Nsight Compute"},
      {"\"Kernel Name\"", "a report of Nsight Compute"},
      {"[TRT]", "a log of TensorRT"},
      {"&&&& RUNNING TensorRT", "a log of TensorRT"},
      {"AUTOTUNE ", "a log of PyTorch's Inductor"},
      {"#traces format", "a trace of SASS instructions"},
      {"workload_graph", "a graph of Chakra"}};
  const auto* const found = std::ranges::find_if(
      kMarks, [&](const auto& mark) { return text.find(mark.first) != std::string_view::npos; });
  return found == std::end(kMarks) ? "" : found->second;
}

/// What no format recognises may still be a workload of our own with a fault, which its reader
/// names.
const Reader& own_reader(const Head& head, const input::InputStream& input) {
  const std::string extension = input.path().extension().string();
  if (const std::string_view what = without_shapes(head.text); !what.empty()) {
    throw base::InputError(fmt::format(
        "{}: {} says no m, n and k; traces/README.md names the recordings that are read",
        input.name(), what));
  }
  if (is_json(head)) {
    if (!head.keys.empty() && !head.has("schema") && !head.has("ops")) {
      const auto first = std::span(head.keys).first(std::min<std::size_t>(8, head.keys.size()));
      throw base::InputError(
          fmt::format("{}: this JSON is neither a workload (\"schema\": \"gemm-workload/0.2\", see "
                      "traces/README.md) nor a recording that is read here: its keys are {}",
                      input.name(), io::printable(fmt::format("{}", fmt::join(first, ", ")))));
    }
    return kOwnJson;
  }
  if (extension == ".json") {
    return kOwnJson;
  }
  if (extension == ".csv" || names_columns(head.text)) {
    return kOwnCsv;
  }
  throw base::InputError(
      input.name() +
      ": neither a workload nor a recording that is read here (see traces/README.md)");
}

}  // namespace

bool is_recording(const input::InputStream& input) {
  const Head head{input.head(), input::top_level_keys(input.head())};
  return is_json(head) || recognised(head) != nullptr;
}

Recording read_recording(input::InputStream& input, const ImportOptions& options) {
  const Head head{input.head(), input::top_level_keys(input.head())};
  const Reader* const found = recognised(head);
  const Reader& reader = found != nullptr ? *found : own_reader(head, input);
  if (!reader.has_dims && !options.dims.empty()) {
    OpenDims(options.dims, input.name()).refuse_unused();
  }
  if (&reader != &onnx::kModel && !options.inputs.empty()) {
    throw base::InputError(
        fmt::format("--input: only an ONNX model has inputs, and {} is none", input.name()));
  }
  if (&reader != &kOwnCsv && options.convention != Convention::kWeightFirst) {
    throw base::InputError(fmt::format(
        "--convention: only a CSV of m, n, k leaves it open, and {} is none", input.name()));
  }
  Recording recording;
  recording.account.format = reader.name;
  if (!reader.name.empty()) {
    recording.workload.file = input.path();
    recording.workload.name = input.path().stem().string();
    recording.workload.source = fmt::format("{}: {}", input.name(), reader.name);
  }
  reader.read(input, options, recording);
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
