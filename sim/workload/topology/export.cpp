// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/topology/export.h"

#include "models/sparsity/pattern.h"
#include "sim/io/text_file.h"
#include "sim/workload/dense_role.h"
#include "sim/workload/workload_text.h"

#include <algorithm>
#include <cctype>

namespace sptc::workload::topology {
namespace {

bool is_exported_sparse(const Operation& op) {
  return op.prunable && dense_role(op).empty();
}

constexpr std::int64_t kMaxRows = 1000000;

/// A name that neither a comma of CSV nor a word of YAML can be taken for.
std::string plain(std::string_view name) {
  std::string result(name);
  const auto strange = [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '-'; };
  std::ranges::replace_if(result, strange, '_');
  return result;
}

std::string timeloop_problem(const Operation& op) {
  const bool batched = op.batch > 1;
  const auto space = [&](char name, char row, char column, const char* more) {
    return fmt::format("      - {{name: {}, projection: [{}[[{}]], [[{}]]]{}}}\n", name, batched ? "[[H]], " : "", row,
                       column, more);
  };
  std::string text = fmt::format(
      "# {} x {}{}\nproblem:\n  shape:\n    name: {}\n    dimensions: [{}M, N, K]\n    data_spaces:\n", op.count,
      plain(op.name), op.conv ? ", a convolution as its implicit GEMM" : "", plain(op.name), batched ? "H, " : "");
  text += space('A', 'M', 'K', "");
  text += space('B', 'K', 'N', "");
  text += space('Z', 'M', 'N', ", read_write: True");
  text += fmt::format("  instance: {{{}M: {}, N: {}, K: {}", batched ? fmt::format("H: {}, ", op.batch) : "",
                      op.shape.m, op.shape.n, op.shape.k);
  if (is_exported_sparse(op)) {
    const sparsity::Pattern pattern = sparsity::hardware_pattern(op.dtype);
    text += fmt::format(", densities: {{A: {{distribution: fixed-structured, density: {}}}}}",
                        static_cast<double>(pattern.kept) / pattern.group);
  }
  return text + "}\n";
}

}  // namespace

std::string scale_sim_text(const Workload& workload) {
  std::int64_t rows = 0;
  for (const Operation& op : workload.operations) {
    rows += op.count > kMaxRows || op.batch > kMaxRows ? kMaxRows + 1 : op.count * op.batch;
    if (rows > kMaxRows) {
      io::refuse("{}: SCALE-Sim has a row per GEMM, and with '{}' there are more than {}",
                 io::printable(workload.file.string()), io::printable(op.name), kMaxRows);
    }
  }
  std::string text = "Layer, M, N, K, Sparsity,\n";
  for (const Operation& op : workload.operations) {
    const std::string row = fmt::format("{}, {}, {}, {}, {},\n", plain(op.name), op.shape.n, op.shape.m, op.shape.k,
                                        is_exported_sparse(op) ? sparsity::hardware_pattern(op.dtype).name() : "1:1");
    for (std::int64_t i = 0; i < op.count * op.batch; ++i) {
      text += row;
    }
  }
  return text;
}

std::string timeloop_text(const Workload& workload) {
  std::string text;
  for (const Operation& op : workload.operations) {
    text += (text.empty() ? "" : "---\n") + timeloop_problem(op);
  }
  return text;
}

ExportFormat parse_export_format(std::string_view name) {
  constexpr std::array<std::string_view, 3> kFormats{"workload", "scalesim", "timeloop"};
  return static_cast<ExportFormat>(place_among(kFormats, name, "--to: unknown format"));
}

}  // namespace sptc::workload::topology
