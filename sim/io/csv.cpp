// SPDX-License-Identifier: Apache-2.0
#include "sim/io/csv.h"

#include "sim/io/text_file.h"

namespace sptc::io {
namespace {

class CsvParser {
 public:
  CsvParser(std::string_view text, const std::string& file) : text_(text), file_(file) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.starts_with(kByteOrderMark)) {
      at_ = kByteOrderMark.size();
    }
  }

  std::vector<CsvRecord> parse() {
    std::vector<CsvRecord> records;
    while (at_ < text_.size()) {
      CsvRecord record = parse_record();
      if (record.fields.size() > 1 || !record.fields[0].empty()) {
        records.push_back(std::move(record));
      }
    }
    return records;
  }

 private:
  bool at_line_end() const { return at_ == text_.size() || text_[at_] == '\n' || at_crlf(); }
  bool at_crlf() const { return text_.substr(at_, 2) == "\r\n"; }

  CsvRecord parse_record() {
    CsvRecord record{line_, {}};
    for (;;) {
      record.fields.push_back(parse_field());
      if (at_line_end()) {
        break;
      }
      ++at_;  // the comma
    }
    at_ += at_crlf() ? 2 : 1;
    ++line_;
    return record;
  }

  std::string parse_field() {
    if (at_ < text_.size() && text_[at_] == '"') {
      return parse_quoted();
    }
    std::string field;
    for (; !at_line_end() && text_[at_] != ','; ++at_) {
      if (text_[at_] == '"' || text_[at_] == '\0') {
        fail(text_[at_] == '"' ? "a quote inside a field that does not start with one" : "a zero byte");
      }
      field += text_[at_];
    }
    return field;
  }

  std::string parse_quoted() {
    const std::int64_t opened = line_;
    std::string field;
    for (++at_;; ++at_) {
      if (at_ >= text_.size()) {
        line_ = opened;
        fail("a quoted field that never ends");
      }
      if (text_[at_] == '"') {
        ++at_;
        if (at_ == text_.size() || text_[at_] != '"') {
          break;
        }
      }
      line_ += text_[at_] == '\n' ? 1 : 0;
      field += text_[at_];
    }
    if (!at_line_end() && text_[at_] != ',') {
      fail("text after a closing quote");
    }
    return field;
  }

  [[noreturn]] void fail(std::string_view problem) const { refuse("{}:{}: {}", file_, line_, problem); }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
};

}  // namespace

std::vector<CsvRecord> parse_csv(std::string_view text, const std::string& file) {
  return CsvParser(text, file).parse();
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  }
  return quoted + "\"";
}

}  // namespace sptc::io
