// SPDX-License-Identifier: Apache-2.0
// Preloaded into a program, this library makes one of its calls fail:
//
//   SPTC_FAIL_CALL    malloc, write, interrupt, short or none
//   SPTC_FAIL_NUMBER  which of them, from 1
//   SPTC_COUNT_FILE   where the number of calls is written when the program ends
//
// "malloc": an allocation finds no memory. "write": the disk is full. "interrupt": a write ends
// with EINTR, once. "short": a write writes half, once. Calls are those of the process that was
// started, not of its children, and count from when its shared libraries are ready.
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

enum class Failure { kNone, kMalloc, kWrite, kInterrupt, kShort };

struct Plan {
  Failure failure = Failure::kNone;
  long number = 0;
  pid_t process = 0;
};

Plan plan;
std::atomic<long> allocations{0};
std::atomic<long> writes{0};

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

/// What the environment asks for; from here on calls count.
void begin() {
  const char* const call = std::getenv("SPTC_FAIL_CALL");
  const char* const number = std::getenv("SPTC_FAIL_NUMBER");
  plan.number = number == nullptr ? 0 : std::atol(number);
  if (call != nullptr) {
    plan.failure = std::strcmp(call, "malloc") == 0      ? Failure::kMalloc
                   : std::strcmp(call, "write") == 0     ? Failure::kWrite
                   : std::strcmp(call, "interrupt") == 0 ? Failure::kInterrupt
                   : std::strcmp(call, "short") == 0     ? Failure::kShort
                                                         : Failure::kNone;
  }
  plan.process = ::getpid();
}

[[gnu::destructor]] void end() {
  const char* const file = std::getenv("SPTC_COUNT_FILE");
  if (file == nullptr || ::getpid() != plan.process) {
    return;
  }
  const int descriptor = ::open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  char text[64];
  const int length =
      std::snprintf(text, sizeof text, "%ld %ld\n", allocations.load(), writes.load());
  static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
  if (descriptor >= 0) {
    (void)!real(descriptor, text, static_cast<size_t>(length));
    ::close(descriptor);
  }
}

/// Whether the allocation that is asked for fails.
bool allocation_fails() {
  if (plan.process == 0) {
    return false;
  }
  const long call = ++allocations;
  return plan.failure == Failure::kMalloc && call == plan.number && ::getpid() == plan.process;
}

/// What becomes of a write of `size` bytes: how many it may write, or -1 where it fails.
ssize_t permitted(size_t size) {
  if (plan.process == 0) {
    return static_cast<ssize_t>(size);
  }
  const long call = ++writes;
  const bool is_it = call == plan.number && ::getpid() == plan.process;
  // A disk that is full stays so.
  if (plan.failure == Failure::kWrite && call >= plan.number && ::getpid() == plan.process) {
    errno = ENOSPC;
    return -1;
  }
  if (is_it && plan.failure == Failure::kInterrupt) {
    errno = EINTR;
    return -1;
  }
  return static_cast<ssize_t>(is_it && plan.failure == Failure::kShort ? (size + 1) / 2 : size);
}

}  // namespace

extern "C" {

// Called when the shared libraries are ready and the program begins.
int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(),
                      void (*fini)(), void (*loader_fini)(), void* stack_end) {
  using Start =
      int(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  auto* const real = next<Start>("__libc_start_main");
  begin();
  return real(main, argc, argv, init, fini, loader_fini, stack_end);
}

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* pointer, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  if (allocation_fails()) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  if (allocation_fails()) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_calloc(count, size);
}

void* realloc(void* pointer, size_t size) {
  if (allocation_fails()) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_realloc(pointer, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  if (allocation_fails()) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** pointer, size_t alignment, size_t size) {
  if (allocation_fails()) {
    return ENOMEM;
  }
  *pointer = __libc_memalign(alignment, size);
  return *pointer == nullptr ? ENOMEM : 0;
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
  const ssize_t most = permitted(size);
  return most < 0 ? most : real(descriptor, bytes, static_cast<size_t>(most));
}

ssize_t writev(int descriptor, const iovec* parts, int count) {
  static auto* const real = next<ssize_t(int, const iovec*, int)>("writev");
  std::size_t size = 0;
  for (int i = 0; i < count; ++i) {
    size += parts[i].iov_len;
  }
  const ssize_t most = permitted(size);
  if (most < 0 || static_cast<std::size_t>(most) == size) {
    return most < 0 ? most : real(descriptor, parts, count);
  }
  for (int i = 0; i < count; ++i) {
    if (parts[i].iov_len > 0) {  // a part of the first that has bytes
      static auto* const write_one = next<ssize_t(int, const void*, size_t)>("write");
      return write_one(descriptor, parts[i].iov_base, (parts[i].iov_len + 1) / 2);
    }
  }
  return 0;
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t offset) {
  static auto* const real = next<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  const ssize_t most = permitted(size);
  return most < 0 ? most : real(descriptor, bytes, static_cast<size_t>(most), offset);
}

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  return pwrite64(descriptor, bytes, size, offset);
}
}
