// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/workload_dims.h"

#include "models/base/text.h"
#include "sim/io/text_file.h"
#include "sim/workload/dim_lists.h"
#include "sim/workload/workload_text.h"

#include <algorithm>
#include <charconv>

namespace sptc::workload {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxBytes = 1000;
constexpr std::array<std::string_view, 3> kFunctions{"min", "max", "ceil_div"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_word_part(char c) {
  return is_letter(c) || is_digit(c) || c == '_';
}

/// Computes while it parses; multiplication and division bind tighter.
class ExtentParser {
 public:
  ExtentParser(std::string_view text, const DimLookup& dim, const io::JsonPlace& place)
      : text_(text), dim_(dim), place_(place) {}

  std::int64_t parse() {
    if (text_.size() > kMaxBytes) {
      fail("has {} characters, more than {}", text_.size(), kMaxBytes);
    }
    const std::int64_t value = sum();
    if (at_ < text_.size()) {
      fail_here("an operator or the end");
    }
    return value;
  }

 private:
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> problem, Args&&... args) const {
    place_.fail("the expression \"{}\" {}", io::printable(text_), fmt::format(problem, std::forward<Args>(args)...));
  }

  [[noreturn]] void fail_here(std::string_view wanted) const { fail("needs {} at character {}", wanted, at_ + 1); }

  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') {
      ++at_;
    }
  }

  /// Whether `c` comes next; it is then behind.
  bool take(char c) {
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == c) {
      ++at_;
      return true;
    }
    return false;
  }

  void require(char c) {
    if (!take(c)) {
      fail_here(fmt::format("'{}'", c));
    }
  }

  std::int64_t sum() {
    std::int64_t value = product();
    for (;;) {
      if (take('+')) {
        check(__builtin_add_overflow(value, product(), &value));
      } else if (take('-')) {
        check(__builtin_sub_overflow(value, product(), &value));
      } else {
        return value;
      }
    }
  }

  std::int64_t product() {
    std::int64_t value = operand();
    for (;;) {
      if (take('*')) {
        check(__builtin_mul_overflow(value, operand(), &value));
      } else if (take('/')) {
        const std::int64_t divisor = positive(operand());
        if (value % divisor != 0) {
          fail("divides {} by {}, which leaves a remainder (ceil_div(a, b) rounds up)", value, divisor);
        }
        value /= divisor;
      } else {
        return value;
      }
    }
  }

  std::int64_t operand() {
    if (++depth_ > kMaxDepth) {
      fail("is nested deeper than {} levels", kMaxDepth);
    }
    skip_blanks();
    std::int64_t value = 0;
    if (at_ < text_.size() && is_digit(text_[at_])) {
      value = number();
    } else if (at_ < text_.size() && is_letter(text_[at_])) {
      value = word();
    } else if (take('(')) {
      value = sum();
      require(')');
    } else {
      fail_here("a number, a dimension or '('");
    }
    --depth_;
    return value;
  }

  std::int64_t number() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    check(error != std::errc());
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  std::int64_t word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word_part(text_[at_])) {
      ++at_;
    }
    const std::string name(text_.substr(begin, at_ - begin));
    return take('(') ? call(name) : dim_(name);
  }

  std::int64_t call(const std::string& function) {
    if (std::ranges::count(kFunctions, function) == 0) {
      fail("has the unknown function {}", base::unknown_name(io::printable(function), kFunctions));
    }
    const std::int64_t a = sum();
    require(',');
    const std::int64_t b = sum();
    require(')');
    if (function == "min") {
      return std::min(a, b);
    }
    if (function == "max") {
      return std::max(a, b);
    }
    const std::int64_t divisor = positive(b);
    return a / divisor + (a % divisor > 0 ? 1 : 0);
  }

  std::int64_t positive(std::int64_t divisor) const {
    if (divisor <= 0) {
      fail("divides by {}", divisor);
    }
    return divisor;
  }

  void check(bool overflow) const {
    if (overflow) {
      fail("exceeds 64 bits");
    }
  }

  std::string_view text_;
  const DimLookup& dim_;
  const io::JsonPlace& place_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
};

/// Whether `name` can stand in an expression: a letter, then letters, digits and underscores.
bool is_dim_name(std::string_view name) {
  return !name.empty() && is_letter(name.front()) && std::ranges::all_of(name, is_word_part);
}

constexpr std::size_t kMaxDims = 64;

struct ExtentKey {
  std::string_view name;
  std::int64_t least = 1;
  std::int64_t most = kMaxExtent;
};

constexpr ExtentKey kOpExtents[] = {{"m"},
                                    {"n"},
                                    {"k"},
                                    {"batch"},
                                    {"count"},
                                    {"rest_ns", 0, kMaxRest},
                                    {"rest_bytes", 0, kMaxRest},
                                    {"rows"},
                                    {"columns"},
                                    {"inputs"},
                                    {"outputs"},
                                    {"input_rows"},
                                    {"scale_block"}};
constexpr ExtentKey kConvExtents[] = {{"N"}, {"C"},      {"H"}, {"W"},      {"K"},      {"R"},       {"S"},
                                      {"P"}, {"groups"}, {"Q"}, {"stride"}, {"pad", 0}, {"dilation"}};

constexpr const char* kSeq = "seq";
constexpr const char* kContext = "context";

/// Whether the keys that are read are by default those of the new tokens.
bool reads_new_tokens(const json& declared) {
  return declared.contains(kContext) && declared.contains(kSeq) && declared[kContext] == kSeq;
}

/// Whether one token of each sequence is meant: the keys that are read are given, and by default
/// they are those of the tokens, whose number is not.
bool decodes(const json& declared, const NamedDims& given) {
  return given.contains(kContext) && !given.contains(kSeq) && reads_new_tokens(declared);
}

/// The dimensions that a workload declares, evaluated when they are asked for.
class DeclaredDims {
 public:
  DeclaredDims(const json& declared, const io::JsonPlace& place, const NamedDims& given)
      : declared_(declared), place_(place), given_(given), open_(given, place.file) {
    if (declared_.size() > kMaxDims) {
      place_.fail("{} dimensions are more than {}", declared_.size(), kMaxDims);
    }
    for (const auto& [name, value] : declared_.items()) {
      if (!is_dim_name(name)) {
        (place_ / name).fail("a dimension is called by a letter, then letters, digits and _");
      }
      names_.push_back(name);
    }
  }

  NamedDims evaluate() {
    for (const std::string& name : names_) {
      value(name, place_ / name);
    }
    open_.refuse_unused();
    if (reads_new_tokens(declared_)) {
      require_context(values_.at(kContext), values_.at(kSeq));
    }
    return values_;
  }

  /// `text` at `place`, which is one of the extents in `key`.
  std::int64_t extent(const std::string& text, const ExtentKey& key, const io::JsonPlace& place) {
    const std::int64_t found = evaluate_extent(
        text, [&](const std::string& name) { return value(name, place); }, place);
    if (found < key.least || found > key.most) {
      place.fail("\"{}\" is {}, but must be from {} to {}", io::printable(text), found, key.least, key.most);
    }
    return found;
  }

 private:
  std::int64_t value(const std::string& name, const io::JsonPlace& asked_at) {
    if (const auto known = values_.find(name); known != values_.end()) {
      return known->second;
    }
    if (!declared_.contains(name)) {
      const std::vector<std::string_view> known(names_.begin(), names_.end());
      asked_at.fail("unknown dimension " + base::unknown_name(io::printable(name), known));
    }
    if (!pending_.insert(name).second) {
      (place_ / name).fail("the dimension depends on itself");
    }
    const std::int64_t found = given_or_default(name);
    pending_.erase(name);
    values_[name] = found;
    return found;
  }

  std::int64_t given_or_default(const std::string& name) {
    const json& absent = declared_[name];
    if (absent.is_null()) {
      return dim_in_range(name, open_.value(name, name + "=8"));
    }
    if (const auto given = open_.given(name)) {
      return dim_in_range(name, *given);
    }
    if (name == kSeq && decodes(declared_, given_)) {
      return 1;
    }
    const io::JsonPlace place = place_ / name;
    return absent.is_string() ? extent(absent.get<std::string>(), {name}, place)
                              : io::to_integer(absent, place, 1, kMaxExtent);
  }

  const json& declared_;
  io::JsonPlace place_;
  const NamedDims& given_;
  OpenDims open_;
  std::vector<std::string> names_;
  std::set<std::string> pending_;
  NamedDims values_;
};

void resolve(json& value, const ExtentKey& key, DeclaredDims& dims, const io::JsonPlace& place) {
  if (value.is_string()) {
    value = dims.extent(value.get<std::string>(), key, place);
  } else if (value.is_array()) {  // stride, pad, dilation
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (value[i].is_string()) {
        resolve(value[i], key, dims, place / i);
      }
    }
  }
}

void resolve_all(json& object, std::span<const ExtentKey> keys, DeclaredDims& dims, const io::JsonPlace& place) {
  for (const ExtentKey& key : keys) {
    if (const auto found = object.find(key.name); found != object.end()) {
      resolve(*found, key, dims, place / key.name);
    }
  }
}

}  // namespace

std::int64_t evaluate_extent(std::string_view text, const DimLookup& dim, const io::JsonPlace& place) {
  return ExtentParser(text, dim, place).parse();
}

NamedDims resolve_dims(json& document, const NamedDims& given, const std::string& file,
                       std::vector<std::string>& notes) {
  const json declared = document.value("dims", json::object());
  const io::JsonPlace root{file, ""};
  if (!declared.is_object()) {
    (root / "dims").fail("must be an object of dimensions and defaults, not {}", io::describe(declared));
  }
  DeclaredDims dims(declared, root / "dims", given);
  NamedDims values = dims.evaluate();
  if (decodes(declared, given)) {
    notes.push_back(fmt::format("decode: one token of each sequence (seq = 1), as context = {} is given without seq",
                                values.at(kContext)));
  }
  const auto ops = document.find("ops");
  if (ops == document.end() || !ops->is_array()) {
    return values;  // the reader says it
  }
  for (std::size_t i = 0; i < ops->size(); ++i) {
    json& op = (*ops)[i];
    if (!op.is_object()) {
      continue;
    }
    const io::JsonPlace place = root / "ops" / i;
    resolve_all(op, kOpExtents, dims, place);
    if (const auto conv = op.find("conv"); conv != op.end() && conv->is_object()) {
      resolve_all(*conv, kConvExtents, dims, place / "conv");
    }
  }
  return values;
}

}  // namespace sptc::workload
