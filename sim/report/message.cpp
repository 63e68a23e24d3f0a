// SPDX-License-Identifier: Apache-2.0
#include "sim/report/message.h"

#include "models/base/error.h"
#include "models/base/text.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>

namespace sptc::report {

void write_message(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

int report_out_of_memory() {
  write_message("sptcsim: error: this run needs more memory than there is or it may take\n");
  return kBadInput;
}

int report_exception() {
  try {
    throw;
  } catch (const base::InputError& error) {
    write_message(fmt::format("sptcsim: error: {}\n", base::bounded_message(error.what())));
    return kBadInput;
  } catch (const std::bad_alloc&) {
    return report_out_of_memory();
  } catch (const std::exception& error) {
    write_message(
        fmt::format("sptcsim: internal error: {}\n", base::bounded_message(error.what())));
    return kInternalError;
  }
}

}  // namespace sptc::report
