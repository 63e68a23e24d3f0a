// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <new>
#include <pthread.h>

namespace sptc::base {

/// An object of each thread that asks for one, made when it first does and destroyed with the
/// thread; that of the main thread stays. Unlike thread_local it needs no memory of glibc, which
/// aborts where there is none. For objects of static storage, of which there are few: the first 32
/// keys of a process take no memory.
template <typename T>
class PerThread {
 public:
  PerThread() {
    if (pthread_key_create(&key_, [](void* object) { delete static_cast<T*>(object); }) != 0) {
      throw std::bad_alloc();
    }
  }
  PerThread(const PerThread&) = delete;
  PerThread& operator=(const PerThread&) = delete;

  T& get() const {
    if (void* const object = pthread_getspecific(key_); object != nullptr) {
      return *static_cast<T*>(object);
    }
    auto made = std::make_unique<T>();
    if (pthread_setspecific(key_, made.get()) != 0) {
      throw std::bad_alloc();
    }
    return *made.release();
  }

 private:
  pthread_key_t key_;
};

}  // namespace sptc::base
