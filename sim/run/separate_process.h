// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"

#include <cstring>
#include <functional>
#include <string>
#include <sys/types.h>
#include <type_traits>
#include <vector>

namespace sptc::run {

/// A computation in a process of its own, which begins at once: SystemC elaborates once per
/// process, so whoever needs a second elaborated GPU computes there. Start it before threads are.
class SeparateProcess {
 public:
  /// `work` returns any bytes. Throws InternalError where no process can be started.
  explicit SeparateProcess(const std::function<std::string()>& work);
  /// `work` may wait for what send() sends: it is what `sent` returns, once.
  explicit SeparateProcess(
      const std::function<std::string(const std::function<std::string()>& sent)>& work);
  SeparateProcess(SeparateProcess&& other) noexcept;
  SeparateProcess(const SeparateProcess&) = delete;
  SeparateProcess& operator=(const SeparateProcess&) = delete;
  /// Where nobody asked for the result, ends the process.
  ~SeparateProcess();

  /// What the process may wait for; once. Nothing happens where it has ended: result() says so.
  void send(const std::string& bytes) const;

  /// Waits for what `work` returns; once. Throws the InputError that it threw, and InternalError
  /// where it ended in another way.
  std::string result();

 private:
  pid_t process_ = -1;  ///< -1: its end has been seen
  int socket_ = -1;     ///< to what it waits for and from what it returns
};

/// `rows` as bytes for SeparateProcess.
template <typename Row>
std::string bytes_of(const std::vector<Row>& rows) {
  static_assert(std::is_trivially_copyable_v<Row>, "rows travel between processes");
  std::string bytes(rows.size() * sizeof(Row), '\0');
  std::memcpy(bytes.data(), rows.data(), bytes.size());
  return bytes;
}

/// What bytes_of() was given.
template <typename Row>
std::vector<Row> rows_of(const std::string& bytes) {
  static_assert(std::is_trivially_copyable_v<Row>, "rows travel between processes");
  base::ensure(bytes.size() % sizeof(Row) == 0, "a process returned part of a row");
  std::vector<Row> rows(bytes.size() / sizeof(Row));
  std::memcpy(rows.data(), bytes.data(), bytes.size());
  return rows;
}

}  // namespace sptc::run
