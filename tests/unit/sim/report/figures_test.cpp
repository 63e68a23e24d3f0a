// SPDX-License-Identifier: Apache-2.0
//
// Whatever a list of figures holds, every format shows.
#include "sim/report/figures.h"

#include "sim/config/architecture.h"
#include "sim/report/report.h"
#include "tests/unit/sim/report/synthetic_result.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace sptc::report {
namespace {

nlohmann::json::json_pointer pointer(const std::string& path) {
  std::string text = "/" + path;
  std::replace(text.begin(), text.end(), '.', '/');
  return nlohmann::json::json_pointer(text);
}

/// Of the lists that JSON has as arrays of objects, the element called `key`.
bool is_listed(const nlohmann::json& variant, const std::string& group, const std::string& key) {
  const nlohmann::json& list = variant.at(pointer(group));
  return std::any_of(list.begin(), list.end(), [&](const nlohmann::json& element) {
    return element.value("reason", element.value("resource", "")) == key;
  });
}

std::vector<std::string> first_line_cells(const std::string& csv) {
  std::istringstream line(csv.substr(0, csv.find('\r')));
  std::vector<std::string> cells;
  for (std::string cell; std::getline(line, cell, ',');) {
    cells.push_back(cell);
  }
  return cells;
}

/// What CSV calls those of its first columns that do not have the name of their figure.
std::string column_of(const std::string& path) {
  constexpr std::string_view kCheck = "check.";
  if (path == "check.mode") {
    return "check";
  }
  if (path == "energy_uj.total") {
    return "energy_uj";
  }
  for (const char* name : {"elements", "mismatches", "undecided", "worst_error", "bound"}) {
    if (path == std::string(kCheck) + name) {
      return name;
    }
  }
  return path;
}

std::string without_breaks(const std::string& text) {
  std::istringstream words(text);
  std::string out;
  for (std::string word; words >> word;) {
    out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

template <typename Visit>
void for_each_variant_figure(const run::VariantResult& variant, const Visit& visit) {
  for (const auto& figure : variant_figures(true)) {
    const std::optional<FigureValue> value = figure.value(variant);
    ASSERT_TRUE(value) << "the result of this test lacks " << figure.path();
    visit(figure, *value);
  }
}

TEST(Figures, HaveAMeaningAndANameOfTheirOwn) {
  std::set<std::string> names;
  for (const auto& figure : variant_figures(true)) {
    EXPECT_FALSE(figure.meaning.empty()) << figure.path();
    EXPECT_TRUE(names.insert(figure.path()).second) << figure.path();
  }
  EXPECT_GT(names.size(), 100U);
}

TEST(Figures, AreAllInTheJson) {
  const run::RunResult result = whole_result();
  const auto operation = nlohmann::json::parse(json_report(result))["operations"][0];
  for_each_variant_figure(*result.operations[0].sparse, [&](const auto& figure, const auto&) {
    const nlohmann::json& variant = operation["sparse"];
    EXPECT_TRUE(variant.contains(pointer(figure.path())) || is_listed(variant, figure.group, figure.key))
        << figure.path();
  });
  for (const auto& figure : operation_figures(true)) {
    EXPECT_TRUE(figure.value(result.operations[0])) << figure.path();
    EXPECT_TRUE(operation.contains(figure.path())) << figure.path();
  }
}

TEST(Figures, AreAllInTheCsv) {
  const run::RunResult result = whole_result();
  const std::vector<std::string> columns = first_line_cells(csv_report(result));
  const auto expect = [&](const std::string& path) {
    EXPECT_EQ(std::count(columns.begin(), columns.end(), column_of(path)), 1) << path;
  };
  for_each_variant_figure(*result.operations[0].sparse,
                          [&](const auto& figure, const auto&) { expect(figure.path()); });
  for (const auto& figure : operation_figures(true)) {
    expect(figure.path());
  }
  const std::set<std::string> distinct(columns.begin(), columns.end());
  EXPECT_EQ(distinct.size(), columns.size());
}

TEST(Figures, AreAllInTheVerboseText) {
  const run::RunResult result = whole_result();
  const std::string text = without_breaks(text_report(result, {.verbose = true}));
  const run::OperationResult& op = result.operations[0];
  for_each_variant_figure(*op.sparse, [&](const auto& figure, const FigureValue& value) {
    const std::string group = "2:4" + (figure.group.empty() ? "" : " " + figure.group) + ":";
    const std::size_t at = text.find(group);
    ASSERT_NE(at, std::string::npos) << group;
    EXPECT_NE(text.find(figure.key + " " + figure_text(value, 6), at), std::string::npos) << figure.path();
  });
  visit_figures(operation_figures(false), op, [&](const auto& figure, const FigureValue& value) {
    EXPECT_NE(text.find(figure.key + " " + figure_text(value, 6)), std::string::npos) << figure.path();
  });
  visit_figures(operation_figures(true), op, [&](const auto& figure, const FigureValue& value) {
    EXPECT_NE(text.find(figure_text(value, 6)), std::string::npos) << figure.path();
  });
}

/// Expects that the page has as many names as values, and each figure of `figures` under its name.
template <typename Result>
void expect_in_page(const Figures<Result>& figures, const Result& result, const nlohmann::json& names,
                    const nlohmann::json& row) {
  visit_figures(figures, result, [&](const auto& figure, const FigureValue& value) {
    const auto name = std::find_if(names.begin(), names.end(),
                                   [&](const nlohmann::json& entry) { return entry.at(0) == figure.path(); });
    ASSERT_NE(name, names.end()) << figure.path();
    const nlohmann::json& shown = row.at(static_cast<std::size_t>(name - names.begin()));
    if (const auto* const word = std::get_if<std::string>(&value)) {
      EXPECT_EQ(shown, *word);
    } else if (const auto* const number = std::get_if<double>(&value)) {
      EXPECT_EQ(figure_text(shown.get<double>(), 6), figure_text(*number, 6));
    } else {
      EXPECT_EQ(shown.dump(), figure_text(value));
    }
  });
}

TEST(Figures, AreAllInThePage) {
  const run::RunResult result = whole_result();
  const std::string page = run_page(result, config::load_architecture("a100-sxm4-80gb").gpu, "");
  constexpr std::string_view kBegin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = page.find(kBegin) + kBegin.size();
  const auto data = nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  const run::OperationResult& op = result.operations[0];
  const nlohmann::json& row = data["operations"][0];
  expect_in_page(operation_figures(true), op, data["operation_figures"], row);
  const nlohmann::json& sparse = data["variants"][row.back().get<std::size_t>()];
  EXPECT_EQ(sparse.size(), data["figures"].size());
  expect_in_page(variant_figures(true), *op.sparse, data["figures"], sparse);
}

}  // namespace
}  // namespace sptc::report
