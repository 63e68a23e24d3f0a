// SPDX-License-Identifier: Apache-2.0
// Preloaded into a program, this library makes one of its calls fail:
//
//   SPTC_FAIL_CALL    write, interrupt, short, create, garble or none
//   SPTC_FAIL_NUMBER  which of them, from 1
//   SPTC_COUNT_FILE   where the number of calls is written when the program ends
//
// "write": the disk is full. "interrupt": a write ends with EINTR, once. "short": a write writes
// half, once. "create": from that one on, files cannot be opened for writing, as where a file
// system is read-only. "garble": a process that was forked inverts all bytes of that send(). But
// for "garble", calls are those of the process that was started, not of its children, and count
// from when its shared libraries are ready.
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <string>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

enum class Failure { kNone, kWrite, kInterrupt, kShort, kCreate, kGarble };

struct Plan {
  Failure failure = Failure::kNone;
  long number = 0;
  pid_t process = 0;
};

Plan plan;
std::atomic<long> writes{0};
std::atomic<long> creations{0};
std::atomic<long> sends_of_child{0};

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

std::string inverted(const void* bytes, std::size_t size) {
  std::string result(static_cast<const char*>(bytes), size);
  for (char& byte : result) {
    byte = static_cast<char>(~byte);
  }
  return result;
}

/// What the environment asks for; from here on calls count.
void begin() {
  const char* const call = std::getenv("SPTC_FAIL_CALL");
  const char* const number = std::getenv("SPTC_FAIL_NUMBER");
  plan.number = number == nullptr ? 0 : std::atol(number);
  if (call != nullptr) {
    plan.failure = std::strcmp(call, "write") == 0       ? Failure::kWrite
                   : std::strcmp(call, "interrupt") == 0 ? Failure::kInterrupt
                   : std::strcmp(call, "short") == 0     ? Failure::kShort
                   : std::strcmp(call, "create") == 0    ? Failure::kCreate
                   : std::strcmp(call, "garble") == 0    ? Failure::kGarble
                                                         : Failure::kNone;
  }
  plan.process = ::getpid();
}

[[gnu::destructor]] void end() {
  if (::getpid() != plan.process) {
    return;
  }
  plan.process = 0;
  const char* const file = std::getenv("SPTC_COUNT_FILE");
  const int out = file == nullptr ? -1 : ::open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (out >= 0) {
    static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
    const std::string counts = std::to_string(writes) + "\n";
    (void)!real(out, counts.data(), counts.size());
    ::close(out);
  }
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

/// Whether a file cannot be opened for writing.
bool creation_fails() {
  if (plan.failure != Failure::kCreate || ::getpid() != plan.process || ++creations < plan.number) {
    return false;
  }
  errno = EROFS;
  return true;
}

bool is_for_writing(int flags) {
  return (flags & O_ACCMODE) != O_RDONLY;
}

/// Devices, such as /dev/null, are no part of the file system.
bool is_device(const char* path) {
  return std::strncmp(path, "/dev/", 5) == 0;
}

}  // namespace

extern "C" {

// Called when the shared libraries are ready and the program begins.
int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*loader_fini)(), void* stack_end) {
  using Start = int(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  auto* const real = next<Start>("__libc_start_main");
  begin();
  return real(main, argc, argv, init, fini, loader_fini, stack_end);
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

/// Whether open() takes a mode.
static bool makes_file(int flags) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

int open64(const char* path, int flags, ...) {
  static auto* const real = next<int(const char*, int, ...)>("open64");
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = makes_file(flags) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  const bool fails = is_for_writing(flags) && !is_device(path) && creation_fails();
  return fails ? -1 : real(path, flags, mode);
}

int open(const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = makes_file(flags) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open64(path, flags, mode);
}

FILE* fopen64(const char* path, const char* mode) {
  static auto* const real = next<FILE*(const char*, const char*)>("fopen64");
  const bool fails = std::strpbrk(mode, "wa+") != nullptr && !is_device(path) && creation_fails();
  return fails ? nullptr : real(path, mode);
}

FILE* fopen(const char* path, const char* mode) {
  return fopen64(path, mode);
}

ssize_t send(int socket, const void* bytes, size_t size, int flags) {
  static auto* const real = next<ssize_t(int, const void*, size_t, int)>("send");
  const bool is_it = plan.failure == Failure::kGarble && ::getpid() != plan.process && ++sends_of_child == plan.number;
  return real(socket, is_it ? inverted(bytes, size).data() : bytes, size, flags);
}
}
