// SPDX-License-Identifier: Apache-2.0
#include "sim/io/scratch_file.h"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <pthread.h>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace sptc::io {

/// Names stay in memory: a handler may read them at any moment.
struct ScratchFile::Name {
  std::string text;
  pid_t owner = ::getpid();
  std::atomic<bool> is_scratch{false};
  Name* older = nullptr;

  static inline std::atomic<Name*> newest{nullptr};

  static void enlist(Name* name) {
    name->older = newest;
    while (!newest.compare_exchange_weak(name->older, name)) {
    }
  }
};

namespace {

/// Signals wait while one lives: a handler finds a file either not made or on the list.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsHeld() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

ScratchFile::ScratchFile(const std::filesystem::path& target, const Make& make) : made_(-1), name_(new Name) {
  constexpr int kNames = 10000;
  error_ = EEXIST;
  for (int i = 0; made_ < 0 && error_ == EEXIST && i < kNames; ++i) {
    name_->text = fmt::format("{}.{}.{}.tmp", target.string(), name_->owner, i);
    path_ = name_->text;
    const SignalsHeld held;
    made_ = make(path_.c_str());  // what is made is known: nothing here throws any more
    error_ = errno;
    if (made_ >= 0) {
      name_->is_scratch = true;
      Name::enlist(name_);
    }
  }
  if (made_ < 0) {
    Name::enlist(name_);
  }
}

ScratchFile::ScratchFile(std::filesystem::path path) : path_(std::move(path)), name_(new Name) {
  name_->text = path_.string();
  name_->is_scratch = true;
  Name::enlist(name_);
}

ScratchFile::~ScratchFile() {
  if (name_->is_scratch && name_->owner == ::getpid()) {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    name_->is_scratch = false;
  }
}

void ScratchFile::keep() {
  name_->is_scratch = false;
}

int open_new(const char* name, unsigned mode) {
  return ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

void remove_scratch_files() noexcept {
  const pid_t self = ::getpid();
  for (const ScratchFile::Name* name = ScratchFile::Name::newest; name != nullptr; name = name->older) {
    if (name->is_scratch && name->owner == self && ::unlink(name->text.c_str()) != 0) {
      ::rmdir(name->text.c_str());
    }
  }
}

}  // namespace sptc::io
