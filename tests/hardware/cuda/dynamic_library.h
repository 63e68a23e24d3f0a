// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sptc::hardware {

/// A shared library that is opened at run time, so that the kit builds and runs without it.
class DynamicLibrary {
 public:
  /// The first of `names` that the loader finds. Not found: is_open() is false.
  explicit DynamicLibrary(const std::vector<std::string>& names);
  DynamicLibrary(const DynamicLibrary&) = delete;
  DynamicLibrary& operator=(const DynamicLibrary&) = delete;
  ~DynamicLibrary();

  bool is_open() const { return handle_ != nullptr; }
  const std::string& name() const { return name_; }
  /// Why it is not open.
  const std::string& problem() const { return problem_; }

  /// Sets `function` to the symbol. False where the library lacks it.
  template <typename Function>
  bool find(const char* symbol, Function*& function) const {
    function = reinterpret_cast<Function*>(address(symbol));
    return function != nullptr;
  }

 private:
  void* address(const char* symbol) const;

  void* handle_ = nullptr;
  std::string name_, problem_;
};

}  // namespace sptc::hardware
