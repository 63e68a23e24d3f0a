// SPDX-License-Identifier: Apache-2.0
#include "sim/report/crosscheck_page.h"

#include "sim/report/html_page.h"
#include "sim/report/version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>
#include <string_view>

namespace sptc::report {
/// sim/report/crosscheck.html.
std::string_view crosscheck_html();

namespace {

using Json = nlohmann::ordered_json;
using check::kernel::KernelDiagnosis;

std::string verdict_of(const check::kernel::KernelData& data, const KernelDiagnosis& diagnosis) {
  const std::size_t elements = diagnosis.comparison.elements, wrong = diagnosis.comparison.mismatches;
  if (diagnosis.bit_exact()) {
    return fmt::format("D is right: all {} elements are equal, bit for bit.", elements);
  }
  if (diagnosis.is_right()) {
    return fmt::format("D is right: {} of {} elements differ, all within the tolerance.", wrong, elements);
  }
  return fmt::format("D differs in {} of {} elements: {}.", wrong, elements,
                     !diagnosis.fitting.empty()       ? diagnosis.fitting.front().text
                     : diagnosis.location.has_fault() ? "some places are explained, others are not"
                     : diagnosis.beyond_rounding.has_fault()
                         ? "as far as rounding lets tell, " + text_of(diagnosis.beyond_rounding, data)
                     : diagnosis.may_be_order() ? "all may be rounding in another order of the sums"
                                                : "why is not known");
}

/// [label, words] of each line behind the first.
Json answer_json(const std::string& text) {
  Json rows = Json::array();
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    const std::size_t mark = std::min(line.find(": "), line.size());
    rows.push_back({line.substr(0, mark), line.substr(std::min(mark + 2, line.size()))});
  }
  return rows;
}

/// A row of cells as a string of digits.
Json rows_json(const base::Matrix<std::uint8_t>& cells) {
  Json rows = Json::array();
  for (std::size_t row = 0; row < cells.rows(); ++row) {
    std::string text;
    for (std::size_t column = 0; column < cells.cols(); ++column) {
      const std::uint8_t cell = cells(row, column);
      text += cell == KernelDiagnosis::kNoDigits ? '*' : static_cast<char>('0' + std::min<int>(cell, 9));
    }
    rows.push_back(text);
  }
  return rows;
}

}  // namespace

std::string crosscheck_page(const check::kernel::KernelCase& kernel, const KernelDiagnosis& diagnosis,
                            const std::string& command) {
  constexpr std::size_t kMostCells = 128;  // along an edge
  const std::string answer = check::kernel::answer_text(kernel, diagnosis);
  Json json{{"version", program_version()},
            {"command", command},
            {"name", answer.substr(0, answer.find('\n'))},
            {"verdict", verdict_of(kernel.data, diagnosis)},
            {"answer", answer_json(answer)},
            {"map", nullptr}};
  if (!diagnosis.bit_exact()) {
    const auto map = check::kernel::mismatch_map(diagnosis, kMostCells, kMostCells);
    json["map"] = {{"height", map.height},          {"width", map.width},
                   {"by_size", map.by_size},        {"of_larger", diagnosis.populations.are_two()},
                   {"cells", rows_json(map.cells)}, {"digits", rows_json(map.digits)}};
  }
  json["report"] = Json::parse(check::kernel::kernel_json(kernel, diagnosis));
  return html_page(crosscheck_html(), json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace sptc::report
