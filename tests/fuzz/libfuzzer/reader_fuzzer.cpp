// SPDX-License-Identifier: Apache-2.0
// One reader of a recording under libFuzzer: SPTC_FUZZ_READER is its function.
#include "models/base/error.h"
#include "sim/workload/readers.h"
#include "sim/workload/workload_text_writer.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace workload = sptc::workload;
  std::string written;
  try {
    workload::InputStream input(std::string(reinterpret_cast<const char*>(data), size), "f");
    workload::Recording recording;
    recording.account.format = "fuzzed";
    recording.workload.name = "f";  // which read_recording() takes from the file
    workload::SPTC_FUZZ_READER(input, {{{"batch", 2}, {"seq", 8}}}, recording);
    workload::account_text(recording);
    written = workload::workload_json(recording);
  } catch (const sptc::base::InputError&) {
    return 0;  // refused with a sentence
  }
  workload::parse_workload_json(written, "what was written");  // must not throw
  return 0;
}
