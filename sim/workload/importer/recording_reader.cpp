// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/importer/recording_reader.h"

#include "models/base/text.h"
#include "sim/config/board_names.h"
#include "sim/workload/input/json_elements.h"
#include "sim/workload/readers.h"

#include <fmt/ranges.h>

#include <iterator>

namespace sptc::workload::importer {
namespace {

constexpr std::size_t kMaxWorkloadBytes = 16 << 20;

void read_own_json(input::InputStream& input, const ImportOptions& options, Recording& recording) {
  recording.workload = parse_workload_json(input.rest(kMaxWorkloadBytes), input.path(), options.dims);
}

void read_own_csv(input::InputStream& input, const ImportOptions& options, Recording& recording) {
  recording.workload = parse_workload_csv(input.rest(kMaxWorkloadBytes), input.path(), options.convention);
}

constexpr Reader kOwnJson{"", [](const Head& head) { return head.has("schema") && head.has("ops"); }, read_own_json,
                          true};
constexpr Reader kOwnCsv{"", nullptr, read_own_csv};

/// Readers in the order in which they are tried.
constexpr const Reader* kReaders[] = {&kOwnJson,       &profile::kKineto,      &profile::kExecutionTrace,
                                      &profile::kNsys, &blas::kCutlassProfile, &onnx::kModel,
                                      &blas::kLog,     &topology::kScaleSim,   &topology::kTransformerConfig};

const Reader* recognised(const Head& head) {
  const auto* const found =
      std::ranges::find_if(kReaders, [&](const Reader* reader) { return reader->recognises(head); });
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
  const auto* const found =
      std::ranges::find_if(kMarks, [&](const auto& mark) { return text.find(mark.first) != std::string_view::npos; });
  return found == std::end(kMarks) ? "" : found->second;
}

/// What no format recognises is read as a workload of our own, whose reader names the fault.
const Reader& own_reader(const Head& head, const input::InputStream& input) {
  const std::string extension = input.path().extension().string();
  if (const std::string_view what = without_shapes(head.text); !what.empty()) {
    io::refuse("{}: {} says no m, n and k; traces/README.md names the recordings that are read", input.name(), what);
  }
  if (is_json(head)) {
    if (!head.keys.empty() && !head.has("schema") && !head.has("ops")) {
      const auto first = std::span(head.keys).first(std::min<std::size_t>(8, head.keys.size()));
      io::refuse(
          "{}: this JSON is neither a workload (\"schema\": \"gemm-workload/0.2\", see traces/README.md) nor a "
          "recording that is read here: its keys are {}",
          input.name(), io::printable(fmt::format("{}", fmt::join(first, ", "))));
    }
    return kOwnJson;
  }
  if (extension == ".json") {
    return kOwnJson;
  }
  if (extension == ".csv" || names_columns(head.text)) {
    return kOwnCsv;
  }
  io::refuse("{}: neither a workload nor a recording that is read here (see traces/README.md)", input.name());
}

struct Sum {
  std::int64_t launches = 0;
  double time_us = 0;

  void add(std::int64_t count, double each_us) {
    launches += count;
    time_us += each_us * static_cast<double>(count);
  }
  std::string text(double all_us, const std::string& shapes = "") const {
    const std::string share =
        all_us > 0 && time_us > 0
            ? fmt::format(", {:.1f} us, {:.1f} % of the recorded kernel time", time_us, 100 * time_us / all_us)
            : "";
    return fmt::format("{} {}{}{}", launches, launches == 1 ? "launch" : "launches", shapes, share);
  }
};

Sum left_of(const Recording& recording) {
  Sum left;
  for (const NotTaken& launch : recording.workload.not_taken) {
    left.add(launch.count, launch.time_us);
  }
  return left;
}

std::string shape_text(const base::GemmShape& shape) {
  const bool said = shape.m > 0 && shape.n > 0 && shape.k > 0;
  return said ? fmt::format(" {} x {} x {}", shape.m, shape.n, shape.k) : "";
}

/// The launches that were not taken by reason, the longest first.
std::string not_taken_text(const std::vector<NotTaken>& launches, double all_us) {
  constexpr std::size_t kMaxExamples = 3, kMaxReasons = 12, kNameBytes = 60;
  std::map<std::string, std::pair<Sum, std::vector<const NotTaken*>>> by_reason;
  for (const NotTaken& launch : launches) {
    auto& [sum, examples] = by_reason[launch.reason];
    sum.add(launch.count, launch.time_us);
    examples.push_back(&launch);
  }
  std::vector<const decltype(by_reason)::value_type*> rows;
  for (const auto& row : by_reason) {
    rows.push_back(&row);
  }
  std::ranges::stable_sort(rows, [](const auto* a, const auto* b) {
    return std::pair(a->second.first.time_us, a->second.first.launches) >
           std::pair(b->second.first.time_us, b->second.first.launches);
  });
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i == kMaxReasons) {
      text += fmt::format("    and {} more reasons\n", rows.size() - i);
      break;
    }
    const auto& [reason, row] = *rows[i];
    text += fmt::format("    {}: {}\n", row.first.text(all_us), reason);
    for (std::size_t j = 0; j < std::min(kMaxExamples, row.second.size()); ++j) {
      const NotTaken& launch = *row.second[j];
      text +=
          fmt::format("      {} x {}{}{}{}\n", launch.count, io::printable(base::shortened(launch.name, kNameBytes)),
                      shape_text(launch.shape), launch.dtype.empty() ? "" : " ", launch.dtype);
    }
    if (row.second.size() > kMaxExamples) {
      text += fmt::format("      and {} more\n", row.second.size() - kMaxExamples);
    }
  }
  return text;
}

std::string notes_text(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) {
    text += "  note: " + note + "\n";
  }
  return text;
}

std::string unbounded_account(const Recording& recording) {
  const Workload& workload = recording.workload;
  const Account& account = recording.account;
  if (account.format.empty()) {
    return notes_text(workload.notes);
  }
  Sum taken;
  for (const Operation& op : workload.operations) {
    taken.add(op.count, op.recorded.time_us);
  }
  const Sum left = left_of(recording);
  std::string text = io::printable(workload.source);
  if (!account.gpu.empty()) {
    text += "; recorded on " + io::printable(account.gpu);
  }
  text += fmt::format("\n  taken: {}\n",
                      taken.text(account.kernels_us, fmt::format(" of {} shapes", workload.operations.size())));
  text += fmt::format("  not taken: {}\n", left.text(account.kernels_us));
  text += not_taken_text(workload.not_taken, account.kernels_us);
  const double other_us = account.kernels_us - taken.time_us - left.time_us;
  if (const double percent = 100 * other_us / account.kernels_us; percent >= 0.05) {
    text += fmt::format("  other kernels: {:.1f} us, {:.1f} % of the recorded kernel time\n", other_us, percent);
  }
  return text + notes_text(account.notes) + notes_text(workload.notes);
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
    io::refuse("--input: only an ONNX model has inputs, and {} is none", input.name());
  }
  if (&reader != &kOwnCsv && options.convention != Convention::kWeightFirst) {
    io::refuse("--convention: only a CSV of m, n, k leaves it open, and {} is none", input.name());
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
    io::refuse("--dim: standard input is read once, so each dimension has one value; name a file instead");
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

std::string account_text(const Recording& recording) {
  std::string text = unbounded_account(recording);
  if (text.empty()) {
    return text;
  }
  text.pop_back();  // the end of its last line
  return base::bounded_message(text) + "\n";
}

void require_all_taken(const Recording& recording) {
  const auto& left = recording.workload.not_taken;
  if (!left.empty()) {
    const std::int64_t launches = left_of(recording).launches;
    io::refuse("--strict: {} launches of {} are not taken; the first, {}: {}", launches,
               io::printable(recording.workload.file.string()), io::printable(left.front().name), left.front().reason);
  }
}

}  // namespace sptc::workload::importer
