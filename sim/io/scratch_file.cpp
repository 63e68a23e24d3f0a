// SPDX-License-Identifier: Apache-2.0
#include "sim/io/scratch_file.h"

#include <atomic>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace sptc::io {

/// Names stay in memory: a handler may read them at any moment.
struct ScratchFile::Name {
  std::string text;
  pid_t owner = 0;
  std::atomic<bool> is_scratch{true};
  Name* older = nullptr;

  static inline std::atomic<Name*> newest{nullptr};
};

ScratchFile::ScratchFile(std::filesystem::path path)
    : path_(std::move(path)), name_(new Name{path_.string(), ::getpid()}) {
  name_->older = Name::newest;
  while (!Name::newest.compare_exchange_weak(name_->older, name_)) {
  }
}

ScratchFile::~ScratchFile() {
  if (name_->is_scratch && name_->owner == ::getpid()) {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    keep();
  }
}

void ScratchFile::keep() {
  name_->is_scratch = false;
}

void remove_scratch_files() noexcept {
  const pid_t self = ::getpid();
  for (const ScratchFile::Name* name = ScratchFile::Name::newest; name != nullptr;
       name = name->older) {
    if (name->is_scratch && name->owner == self && ::unlink(name->text.c_str()) != 0) {
      ::rmdir(name->text.c_str());
    }
  }
}

}  // namespace sptc::io
