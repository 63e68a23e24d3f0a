// SPDX-License-Identifier: Apache-2.0
#include "sim/report/message.h"

#include "models/base/error.h"
#include "models/base/text.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <unistd.h>

namespace sptc::report {

std::string printed(std::string_view text) {
  const auto stays = [&](std::size_t at) {
    const char c = text[at];
    return (c >= ' ' && c <= '~') || c == '\n' || c == '\t' || text.substr(at, 2) == "\r\n";
  };
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const bool plain = stays(at);
    while (at < text.size() && stays(at) == plain) {
      ++at;
    }
    const std::string_view part = text.substr(begin, at - begin);
    result += plain ? std::string(part) : base::escaped(part);
  }
  return result;
}

void write_message(std::string_view text) {
  write_to_terminal(printed(text));
}

void write_to_terminal(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

bool is_terminal(int stream) {
  const char* const type = std::getenv("TERM");
  return ::isatty(stream) != 0 && type != nullptr && std::string_view(type) != "dumb";
}

bool has_color(int stream) {
  const char* const no_color = std::getenv("NO_COLOR");
  return is_terminal(stream) && (no_color == nullptr || *no_color == '\0');
}

int report_exception() {
  try {
    throw;
  } catch (const base::InputError& error) {
    write_message(fmt::format("sptcsim: error: {}\n", base::bounded_message(error.what())));
    return kBadInput;
  } catch (const std::bad_alloc&) {
    write_message("sptcsim: error: this run needs more memory than there is or it may take\n");
    return kBadInput;
  } catch (const std::exception& error) {
    write_message(fmt::format("sptcsim: internal error: {}\n", base::bounded_message(error.what())));
    return kInternalError;
  }
}

}  // namespace sptc::report
