// SPDX-License-Identifier: Apache-2.0
// configs/CALIBRATION.md against the files and the code that it explains.
#include "sim/base/cache_tags.h"
#include "sim/config/architecture.h"
#include "sim/io/text_file.h"
#include "sim/kernels/form_constants.h"
#include "sim/memory/owning_partition.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::compare::times {
namespace {

/// A line of the text and what it names between backquotes.
struct Line {
  std::string text;
  std::vector<std::string> names;
};

std::vector<Line> lines_of_calibration() {
  const std::string text =
      io::read_text_file(std::string(SPTC_SOURCE_DIR) + "/configs/CALIBRATION.md", 1 << 20);
  std::vector<Line> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    Line line{text.substr(begin, end - begin), {}};
    for (std::size_t open = line.text.find('`'); open != std::string::npos;) {
      const std::size_t close = line.text.find('`', open + 1);
      if (close == std::string::npos) {
        break;
      }
      line.names.push_back(line.text.substr(open + 1, close - open - 1));
      open = line.text.find('`', close + 1);
    }
    lines.push_back(std::move(line));
    begin = end + 1;
  }
  return lines;
}

/// Whether `name` is `key`, a star in it standing for any part.
bool means(std::string_view name, std::string_view key) {
  const std::size_t star = name.find('*');
  if (star == std::string_view::npos) {
    return name == key;
  }
  const std::string_view first = name.substr(0, star), last = name.substr(star + 1);
  return key.size() >= first.size() + last.size() && key.starts_with(first) && key.ends_with(last);
}

bool names(const Line& line, std::string_view key) {
  return std::ranges::any_of(line.names, [&](const auto& name) { return means(name, key); });
}

/// Whether `text` has `number`, not as a part of a longer one or of a word: A100, 2:4.
bool has_number(std::string_view text, double number) {
  const std::string digits = fmt::format("{}", number);
  const auto is = [&](int (*kind)(int), std::size_t at) {
    return at < text.size() && kind(static_cast<unsigned char>(text[at])) != 0;
  };
  const auto joins = [&](std::size_t at) {
    return at < text.size() && (text[at] == '.' || text[at] == ':');
  };
  for (std::size_t at = text.find(digits); at != std::string_view::npos;
       at = text.find(digits, at + 1)) {
    const std::size_t end = at + digits.size();
    const bool goes_on = is(std::isalnum, end) || (joins(end) && is(std::isdigit, end + 1));
    const bool began = at > 0 && (is(std::isalnum, at - 1) || joins(at - 1));
    if (!goes_on && !began) {
      return true;
    }
  }
  return false;
}

TEST(Calibration, FindsNamesAndNumbers) {
  EXPECT_TRUE(means("operand_*_port", "operand_a_port"));
  EXPECT_FALSE(means("operand_*_port", "accumulator_port"));
  EXPECT_FALSE(means("l2", "l2_partitions"));
  EXPECT_TRUE(has_number("64, the port", 64));
  EXPECT_TRUE(has_number("of 20.6.", 20.6));
  EXPECT_FALSE(has_number("164 and 64.5 and 0.64", 64));
  EXPECT_FALSE(has_number("2:4 on an A100", 100));
  EXPECT_FALSE(has_number("2:4 on an A100", 4));
}

TEST(Calibration, HasEveryNumberThatNoDocumentHas) {
  const std::vector<Line> lines = lines_of_calibration();
  int looked_for = 0;
  for (const std::string& name : config::architecture_names()) {
    for (const config::Parameter& parameter : config::load_architecture(name).parameters) {
      if (parameter.evidence == "cited" || parameter.evidence == "measured") {
        continue;
      }
      const std::string key = parameter.pointer.substr(parameter.pointer.rfind('/') + 1);
      EXPECT_TRUE(std::ranges::any_of(lines,
                                      [&](const Line& line) {
                                        return names(line, key) &&
                                               has_number(line.text, parameter.value);
                                      }))
          << name << ": no line has " << key << " and " << parameter.value;
      ++looked_for;
    }
  }
  EXPECT_GT(looked_for, 500);
}

TEST(Calibration, HasTheConstantsOfTheClosedForms) {
  const std::vector<Line> lines = lines_of_calibration();
  const auto expect_row = [&](std::string_view name, double value) {
    const auto row = std::ranges::find_if(lines, [&](const Line& line) {
      return line.text.starts_with("| `form_constants.h` |") && names(line, name);
    });
    ASSERT_NE(row, lines.end()) << name;
    EXPECT_TRUE(has_number(row->text, value)) << name << ' ' << value;
  };
  expect_row("overlap", kernels::kForm.overlap);
  expect_row("lone_warps", kernels::kForm.lone_warps);
  expect_row("enough_warps", kernels::kForm.enough_warps);
  expect_row("first_fill", kernels::kForm.first_fill);
  expect_row("barrier_cycles", kernels::kForm.barrier_cycles);
  expect_row("stores_in_step", kernels::kForm.stores_in_step);
  expect_row("readers_in_step", kernels::kForm.readers_in_step);
  expect_row("l2_share_of_operand", kernels::kForm.l2_share_of_operand);
}

TEST(Calibration, HasTheConstantsOfTheCaches) {
  const std::vector<Line> lines = lines_of_calibration();
  const auto expect_line = [&](std::string_view name, double value) {
    EXPECT_TRUE(std::ranges::any_of(lines, [&](const Line& line) {
      return names(line, name) && has_number(line.text, value);
    })) << name;
  };
  expect_line("kWays", base::CacheTags::kWays);
  expect_line("kBlockBytes", static_cast<double>(base::CacheTags::kBlockBytes));
  expect_line("kOwnedBytes", static_cast<double>(memory::kOwnedBytes));
}

/// What follows from the peak rates of a data sheet by arithmetic.
const std::set<std::string, std::less<>> kOfDataSheets{
    "boost_clock_mhz", "dot_units", "dot_width_bytes", "f32_dot_units", "f64_multipliers"};

/// The numbers that a file itself has.
struct OwnNumbers {
  int all = 0;
  int uncited = 0;  ///< derived or assumed
  int of_data_sheets = 0;

  void count(const nlohmann::json& section) {
    for (const auto& [key, inner] : section.items()) {
      if (inner.contains("evidence")) {
        // What was measured stands in a capture of the repository.
        const bool stated = inner["evidence"] == "cited" || inner["evidence"] == "measured";
        ++all;
        uncited += stated ? 0 : 1;
        of_data_sheets += !stated && kOfDataSheets.contains(key) ? 1 : 0;
      } else if (inner.is_object()) {
        count(inner);
      }
    }
  }
};

OwnNumbers own_numbers(const std::string& file) {
  OwnNumbers numbers;
  numbers.count(nlohmann::json::parse(
      io::read_text_file(std::string(SPTC_SOURCE_DIR) + "/configs/" + file, 1 << 20)));
  return numbers;
}

/// Numbers of its launches that were derived from measured times.
int fitted_numbers(const config::Architecture& architecture) {
  return static_cast<int>(
      std::ranges::count_if(architecture.parameters, [](const config::Parameter& parameter) {
        return parameter.pointer.starts_with("/kernels/") && parameter.evidence == "derived";
      }));
}

TEST(Calibration, CountsTheNumbersOfTheGpusThatWereFitted) {
  const std::vector<Line> lines = lines_of_calibration();
  const OwnNumbers common = own_numbers("common/architecture.json");
  std::vector<std::string> rows(7);
  for (const std::string name : {"a100-sxm4-80gb", "a40", "h100-sxm5-80gb"}) {
    const OwnNumbers own = own_numbers(name + ".json");
    const int beyond = own.uncited - own.of_data_sheets;
    EXPECT_LE(beyond, 14) << name;
    rows[0] += fmt::format(" {} |", own.all);
    rows[1] += fmt::format(" {} |", own.uncited);
    rows[2] += fmt::format(" {} |", own.of_data_sheets);
    rows[3] += fmt::format(" {} |", beyond);
    rows[4] += fmt::format(" {} |", fitted_numbers(config::load_architecture(name)));
    rows[5] += fmt::format(" {} |", common.uncited);
    rows[6] += fmt::format(" {} |", sizeof(kernels::FormConstants) / sizeof(double));
  }
  const std::array labels{"numbers in the file",
                          "of these derived or assumed",
                          "of these by arithmetic",
                          "**beyond the data sheet**",
                          "of these derived from measured times",
                          "common numbers that are derived",
                          "constants of the closed form"};
  for (std::size_t row = 0; row < rows.size(); ++row) {
    EXPECT_TRUE(std::ranges::any_of(lines,
                                    [&](const Line& line) {
                                      return line.text.starts_with(
                                                 fmt::format("| {}", labels.at(row))) &&
                                             line.text.ends_with("|" + rows[row]);
                                    }))
        << labels.at(row) << rows[row];
  }
}

}  // namespace
}  // namespace sptc::compare::times
