// SPDX-License-Identifier: Apache-2.0
#include "sim/run/separate_process.h"

#include "models/base/error.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace sptc::run {
namespace {

// The first byte of what a process writes says what follows.
constexpr char kResult = '=';
constexpr char kRefused = '!';
constexpr char kOutOfMemory = '-';
constexpr char kBroken = '?';

void write_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (written < 0 && errno != EINTR) {
      return;  // nobody reads any more
    }
    bytes.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
}

std::string read_all(int file) {
  std::string bytes;
  std::array<char, 1 << 16> buffer{};
  while (true) {
    const ssize_t count = ::read(file, buffer.data(), buffer.size());
    if (count > 0) {
      bytes.append(buffer.data(), static_cast<std::size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      return bytes;
    }
  }
}

std::string outcome_of(const std::function<std::string()>& work) {
  try {
    return kResult + work();
  } catch (const base::InputError& error) {
    return kRefused + std::string(error.what());
  } catch (const std::bad_alloc&) {
    return {kOutOfMemory};
  } catch (const std::exception& error) {
    return kBroken + std::string(error.what());
  }
}

/// What is missing, memory, processes or files, is the machine's.
[[noreturn]] void refuse_to_start() {
  throw base::InputError(std::string("a process that this run needs cannot be started: ") +
                         std::strerror(errno));
}

void wait_for(pid_t process) {
  while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

SeparateProcess::SeparateProcess(const std::function<std::string()>& work)
    : SeparateProcess([&](const std::function<std::string()>&) { return work(); }) {}

SeparateProcess::SeparateProcess(
    const std::function<std::string(const std::function<std::string()>& sent)>& work) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) {
    refuse_to_start();
  }
  process_ = ::fork();
  if (process_ < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    refuse_to_start();
  }
  if (process_ == 0) {
    // One that was started by another process of this kind ends with it.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(ends[0]);
    write_all(ends[1], outcome_of([&] { return work([&] { return read_all(ends[1]); }); }));
    ::_exit(0);  // the buffers of the parent are not the child's to flush
  }
  ::close(ends[1]);
  socket_ = ends[0];
}

SeparateProcess::SeparateProcess(SeparateProcess&& other) noexcept
    : process_(std::exchange(other.process_, -1)), socket_(std::exchange(other.socket_, -1)) {}

SeparateProcess::~SeparateProcess() {
  if (process_ >= 0) {
    ::close(socket_);
    ::kill(process_, SIGKILL);
    wait_for(process_);
  }
}

void SeparateProcess::send(const std::string& bytes) const {
  write_all(socket_, bytes);
  ::shutdown(socket_, SHUT_WR);
}

std::string SeparateProcess::result() {
  base::ensure(process_ >= 0, "the result of a process can be had once");
  std::string bytes = read_all(socket_);
  ::close(std::exchange(socket_, -1));
  wait_for(std::exchange(process_, -1));
  const char kind = bytes.empty() ? kBroken : bytes.front();
  bytes.erase(0, 1);
  if (kind == kRefused) {
    throw base::InputError(bytes);
  }
  if (kind == kOutOfMemory) {
    throw std::bad_alloc();
  }
  if (kind != kResult) {
    throw base::InternalError("a process ended before its work was done" +
                              (bytes.empty() ? bytes : ": " + bytes));
  }
  return bytes;
}

}  // namespace sptc::run
