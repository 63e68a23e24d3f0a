// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::workload::input {

/// Reads JSON of any size value by value, with the faults that JsonRepair mends. A value has at
/// most 16 MiB. A reader of a format overrides what it looks at.
class JsonStream : private nlohmann::json_sax<nlohmann::json> {
 public:
  /// `file` is for messages.
  explicit JsonStream(std::string file) : file_(std::move(file)) {}

  /// Throws InputError with line and column. What was mended is in repairs() then.
  void read(std::istream& stream);
  /// One sentence; empty where nothing was mended.
  const std::string& repairs() const { return repairs_; }

 protected:
  const std::string& file() const { return file_; }
  /// Objects and arrays that are open.
  int depth() const { return static_cast<int>(arrays_.size()); }

  virtual void on_key(std::string& key) = 0;
  /// depth() counts what was opened.
  virtual void on_open(bool array) = 0;
  /// depth() does not count any more what was closed.
  virtual void on_close(bool array) = 0;
  virtual void on_integer(std::int64_t value) = 0;
  virtual void on_float(double value) = 0;
  virtual void on_text(std::string& value) = 0;
  /// "null", "true" or "false".
  virtual void on_word(std::string_view /*word*/) {}

 private:
  bool null() override { return word("null"); }
  bool boolean(bool value) override { return word(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override;
  bool number_unsigned(number_unsigned_t value) override;
  bool number_float(number_float_t value, const string_t& text) override;
  bool string(string_t& value) override;
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t elements) override;
  bool start_array(std::size_t elements) override;
  bool end_object() override;
  bool end_array() override;
  bool key(string_t& key) override;
  bool parse_error(std::size_t position, const std::string& last_token,
                   const nlohmann::json::exception& error) override;
  bool word(std::string_view word);
  bool open(bool array);
  bool close();

  class Buffer;

  std::string file_, repairs_;
  std::vector<bool> arrays_;
  std::size_t unparsed_ = 0;  ///< bytes since the last value, but for those of a block
};

}  // namespace sptc::workload::input
