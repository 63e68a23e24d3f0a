// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

namespace sptc::base {

/// The bits that a token carries, or nothing. Payloads are tens of kilobytes and live for a few
/// cycles, so their memory is kept and used again, the latest first while it is still in cache.
template <typename T>
struct RecyclePayload {
  void operator()(T* payload) const { pool().emplace_back(payload); }

  static std::vector<std::unique_ptr<T>>& pool() {
    static std::vector<std::unique_ptr<T>> free;  // SystemC runs in one thread
    return free;
  }
};

template <typename T>
using Payload = std::unique_ptr<T, RecyclePayload<T>>;

/// A payload with unspecified contents.
template <typename T>
Payload<T> make_payload() {
  auto& pool = RecyclePayload<T>::pool();
  if (pool.empty()) {
    return Payload<T>(new T);
  }
  Payload<T> payload(pool.back().release());
  pool.pop_back();
  return payload;
}

}  // namespace sptc::base
