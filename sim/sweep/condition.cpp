// SPDX-License-Identifier: Apache-2.0
#include "models/base/text.h"
#include "sim/io/text_file.h"
#include "sim/sweep/database.h"
#include "sim/sweep/plan.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <ranges>
#include <sqlite3.h>

namespace sptc::sweep {
namespace {

constexpr std::size_t kMaxLength = 4096;

/// Functions that a condition may call; others could use up memory or depend on more than a point.
constexpr std::array<std::string_view, 12> kFunctions{"abs",    "ceil", "floor", "glob", "iif",   "instr",
                                                      "length", "like", "max",   "min",  "round", "substr"};

constexpr std::string_view kQuotes = "'\"`[";
constexpr std::string_view kEndsOfQuotes = "'\"`]";

/// The point, and the expression over it; a third SELECT is within the expression.
constexpr int kSelects = 2;

/// Only what computes something from a point. `selects`: an int, the SELECTs so far.
int authorize(void* selects, int action, const char* /*first*/, const char* second, const char* /*database*/,
              const char* /*trigger*/) {
  const bool allowed = action == SQLITE_READ ||
                       (action == SQLITE_SELECT && ++*static_cast<int*>(selects) <= kSelects) ||
                       (action == SQLITE_FUNCTION && std::ranges::count(kFunctions, second) > 0);
  return allowed ? SQLITE_OK : SQLITE_DENY;
}

/// `text` with its axes in the quotes of SQL: some are called as its keywords are.
std::string with_quoted_axes(std::string_view text, std::span<const std::string> axes) {
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::string result;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    const char first = text[at];
    if (const std::size_t quote = kQuotes.find(first); quote != std::string_view::npos) {
      end = std::min(text.size(), text.find(kEndsOfQuotes[quote], at + 1)) + 1;
    } else {
      end = at + 1;
      while (is_letter(first) && end < text.size() && is_letter(text[end])) {
        ++end;
      }
    }
    const std::string word(text.substr(at, end - at));
    result += std::ranges::count(axes, word) > 0 ? sql_name(word) : word;
  }
  return result;
}

/// What SQLite says of a statement that begins and ends with words that are not the user's.
std::string problem_of(const std::string& message, std::string_view text, std::span<const std::string> axes) {
  constexpr std::string_view kColumn = "no such column: ";
  if (message.starts_with(kColumn)) {
    const std::vector<std::string_view> allowed(axes.begin(), axes.end());
    return "unknown axis " + base::unknown_name(message.substr(kColumn.size()), allowed);
  }
  if (message.starts_with("not authorized")) {
    return fmt::format("it holds no SELECT, reads only the axes and calls only {}", fmt::join(kFunctions, ", "));
  }
  if (message.starts_with("unrecognized token: \"'")) {
    return "a word does not end with '";
  }
  if (message.starts_with("near \"FROM\"")) {
    return "a ')' is missing";
  }
  if (message.starts_with("near \")\"") && text.find(')') == std::string_view::npos) {
    return "an operand is missing at the end";
  }
  return io::printable(message);
}

}  // namespace

/// The expression over a table of one row: the point.
class Condition::Statement {
 public:
  /// `fail` is called with a problem and throws.
  Statement(std::string_view text, std::span<const std::string> axes,
            const std::function<void(const std::string&)>& fail) {
    sqlite3* database = nullptr;
    const int opened = sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
    database_.reset(database);
    base::ensure(opened == SQLITE_OK, "SQLite cannot make a database in memory");
    int selects = 0;
    sqlite3_set_authorizer(database, authorize, &selects);
    sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);  // "word" is an axis
    // The line ends before the ')', so that a comment does not hide it.
    const std::string sql =
        fmt::format("WITH point({}) AS (SELECT {}) SELECT ({}\n) FROM point",
                    fmt::join(std::views::transform(axes, sql_name), ", "),
                    fmt::join(std::vector<std::string>(axes.size(), "?"), ", "), with_quoted_axes(text, axes));
    sqlite3_stmt* statement = nullptr;
    const char* rest = nullptr;
    if (sqlite3_prepare_v3(database, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &statement, &rest) != SQLITE_OK) {
      fail(problem_of(sqlite3_errmsg(database), text, axes));
    }
    statement_.reset(statement);
    sqlite3_set_authorizer(database, nullptr, nullptr);  // the count ends here
    if (*rest != '\0' || sqlite3_column_count(statement) != 1 ||
        static_cast<std::size_t>(sqlite3_bind_parameter_count(statement)) != axes.size()) {
      fail("is more than one expression over the axes");
    }
  }

  sqlite3_stmt* get() const { return statement_.get(); }

 private:
  std::unique_ptr<sqlite3, Close> database_;
  std::unique_ptr<sqlite3_stmt, Close> statement_;
};

Condition::Condition(std::string_view text, std::span<const std::string> axes, const io::JsonPlace& place)
    : text_(text), place_(place), axes_(axes.size()) {
  if (text.size() > kMaxLength || text.find('\0') != std::string_view::npos) {
    place.fail("a condition has at most {} characters, none of them NUL", kMaxLength);
  }
  statement_ = std::make_shared<Statement>(
      text, axes, [&](const std::string& problem) { place.fail("in '{}': {}", io::printable(text), problem); });
}

bool Condition::holds(const Lookup& axis) const {
  sqlite3_stmt* const statement = statement_->get();
  for (std::size_t i = 0; i < axes_; ++i) {
    const nlohmann::json& value = axis(i);
    const int parameter = static_cast<int>(i) + 1;
    if (value.is_string()) {
      const auto& word = value.get_ref<const std::string&>();
      sqlite3_bind_text64(statement, parameter, word.data(), word.size(), SQLITE_STATIC, SQLITE_UTF8);
    } else {
      sqlite3_bind_double(statement, parameter, value.is_boolean() ? double(value.get<bool>()) : value.get<double>());
    }
  }
  const int code = sqlite3_step(statement);
  const int type = code == SQLITE_ROW ? sqlite3_column_type(statement, 0) : SQLITE_NULL;
  const bool result = sqlite3_column_double(statement, 0) != 0;
  sqlite3_reset(statement);
  if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
    place_.fail(
        "in '{}': {}", io::printable(text_),
        type == SQLITE_TEXT ? "a word stands where a number belongs" : "gives no number at a point (a division by 0?)");
  }
  return result;
}

}  // namespace sptc::sweep
