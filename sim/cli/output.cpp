// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/output.h"

#include "models/base/error.h"
#include "sim/io/file_use.h"
#include "sim/io/scratch_file.h"
#include "sim/io/text_file.h"
#include "sim/report/message.h"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <unistd.h>

namespace sptc::cli {
namespace {

int argument_count = 0;
char** argument_words = nullptr;

void on_interrupt(int /*signal*/) {
  constexpr std::string_view kText = "\nsptcsim: interrupted\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText.data(), kText.size());
  io::remove_scratch_files();
  ::_exit(report::kInterrupted);
}

}  // namespace

bool is_stream(const std::filesystem::path& path) {
  std::error_code error;
  return is_standard_output(path) || std::filesystem::is_character_file(path, error) ||
         std::filesystem::is_fifo(path, error);
}

bool is_standard_output(const std::filesystem::path& path) {
  return path.empty() || path == "-" || path == "/dev/stdout";
}

void require_writable(std::string_view option, const std::filesystem::path& path) {
  std::error_code error;
  const std::string shown = io::printable(path.string());
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) {
    io::refuse("{} {}: exists and is not a regular file", option, shown);
  }
  const std::filesystem::path target = io::behind_link(path);
  const std::filesystem::path parent = target.has_parent_path() ? target.parent_path() : ".";
  if (!std::filesystem::is_directory(parent, error)) {
    io::refuse("{} {}: there is no directory '{}'", option, shown, io::printable(parent.string()));
  }
  // Not access(): root may write anywhere by its answer, also in /proc.
  const io::ScratchFile probe(target, [](const char* name) { return io::open_new(name, 0600); });
  if (probe.made() < 0) {
    io::refuse("{} {}: the directory '{}' cannot be written to: {}", option, shown, io::printable(parent.string()),
               std::strerror(probe.error()));
  }
  ::close(probe.made());
  io::announce_output(option, path);
}

void require_writable_text(std::string_view option, const std::filesystem::path& path) {
  if (!is_stream(path)) {
    require_writable(option, path);
  }
}

void require_format(std::string_view format, std::initializer_list<std::string_view> formats) {
  io::place_among({formats.begin(), formats.size()}, format, "unknown format");
}

bool is_json(std::string_view format) {
  require_format(format, {"text", "json"});
  return format == "json";
}

void write_result(const std::filesystem::path& path, std::string_view text) {
  write_bytes(path, report::printed(text));
}

void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  if (!is_standard_output(path) && is_stream(path)) {
    std::ofstream stream(path, std::ios::binary);
    if (!(stream << bytes << std::flush)) {
      io::refuse("{}: cannot be written", io::printable(path.string()));
    }
    return;
  }
  if (!is_standard_output(path)) {
    io::require_no_input(path);
    io::write_file(path, bytes);
    return;
  }
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size();
  if (!written || std::fflush(stdout) != 0) {
    throw base::InputError("the result cannot be written to standard output");
  }
}

void keep_arguments(int argc, char** argv) {
  argument_count = argc;
  argument_words = argv;
}

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return out + "'";
}

std::string command_line() {
  std::string line = "sptcsim";
  for (int i = 1; i < argument_count; ++i) {
    const std::string word = argument_words[i];
    const bool is_plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || std::strchr("-_./:=,+@%", c) != nullptr;
    });
    line += " " + (is_plain ? word : shell_quoted(word));
  }
  return line;
}

void open_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) < 0) {
      ::open("/dev/null", O_RDONLY);  // gets the lowest number that is free
    }
  }
}

void handle_interrupts() {
  on_interrupts(on_interrupt);
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is then an error of write()
}

void on_interrupts(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  struct sigaction before {};
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) {
    ::sigaction(SIGHUP, &action, nullptr);
  }
}

}  // namespace sptc::cli
