// SPDX-License-Identifier: Apache-2.0
// One reader of a recording under libFuzzer: SPTC_FUZZ_READER names its function.
#include "models/base/error.h"
#include "sim/workload/readers.h"
#include "sim/workload/workload_text_writer.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sptc;
  std::string written;
  try {
    InputStream input(std::string(reinterpret_cast<const char*>(data), size), "f");
    Recording recording;
    recording.account.format = "fuzzed";
    SPTC_FUZZ_READER(input, {{{"batch", 2}, {"seq", 8}}}, recording);
    account_text(recording);
    written = workload_json(recording);
  } catch (const InputError&) {
    return 0;  // refused with a sentence
  }
  parse_workload_json(written, "what was written");  // must not throw
  return 0;
}
