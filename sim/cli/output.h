// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>

namespace sptc::cli {

/// Whether `path` is empty, "-" or "/dev/stdout".
bool is_standard_output(const std::filesystem::path& path);

/// Whether what is written to `path` goes where it comes, without a file beside: standard output, a device, a pipe.
bool is_stream(const std::filesystem::path& path);

/// Throws InputError unless a file can be created at `path`, which `option` names, or where that
/// file is read or written otherwise. Called before the work begins, once for each option.
void require_writable(std::string_view option, const std::filesystem::path& path);
/// The same for text that write_result() writes: `path` may also be "-" (standard output), a device
/// or a pipe. Nothing is required of an empty `path`.
void require_writable_text(std::string_view option, const std::filesystem::path& path);

/// Throws InputError unless `format`, the value of --format, is one of `formats`.
void require_format(std::string_view format, std::initializer_list<std::string_view> formats);
/// Whether `format` is "json". Throws InputError unless it is that or "text".
bool is_json(std::string_view format);

/// Writes `text` to `path` (beside it, then renamed), or to stdout where is_standard_output(path);
/// as report::printed() has it, for it has names out of files. Throws InputError.
void write_result(const std::filesystem::path& path, std::string_view text);
/// The same of what `text` returns, where `path` is not empty.
template <typename Text>
void write_if_asked(const std::filesystem::path& path, const Text& text) {
  if (!path.empty()) {
    write_result(path, text());
  }
}

/// Writes bytes as they are: of an image, or of a report that has its own colours and was escaped.
void write_bytes(const std::filesystem::path& path, std::string_view bytes);

/// `text` in single quotes of a shell.
std::string shell_quoted(std::string_view text);

/// The arguments of the program, for command_line(); they are not copied.
void keep_arguments(int argc, char** argv);
/// The command as it was typed, in a form that a shell understands: "sptcsim run x.json".
std::string command_line();

/// Opens what is closed of stdin, stdout and stderr, so that it cannot be written to: the next file
/// that is opened would take its place, and what belongs to the stream.
void open_closed_streams();

/// SIGINT, SIGTERM and SIGHUP end the program with exit code 130; a file size limit is an error of
/// the write, like a full disk.
void handle_interrupts();

/// Calls `handler` on SIGINT, SIGTERM and SIGHUP; the last is left alone where it is ignored, as nohup has it.
void on_interrupts(void (*handler)(int));

}  // namespace sptc::cli
