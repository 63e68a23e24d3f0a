// SPDX-License-Identifier: Apache-2.0
#include "tests/hardware/cuda/dynamic_library.h"

#include <dlfcn.h>

namespace sptc::hardware {

DynamicLibrary::DynamicLibrary(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      name_ = name;
      problem_.clear();
      return;
    }
    // A library that is there and cannot be loaded names what it lacks, not itself.
    const char* const error = dlerror();
    const std::string text = error == nullptr ? "" : error;
    if (problem_.empty() && !text.starts_with(name + ": cannot open")) {
      problem_ = text;
    }
  }
  if (problem_.empty()) {
    problem_ = names.back().substr(0, names.back().find('.')) + " was not found";
  }
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_ != nullptr) {
    dlclose(handle_);
  }
}

void* DynamicLibrary::address(const char* symbol) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, symbol);
}

}  // namespace sptc::hardware
