// SPDX-License-Identifier: Apache-2.0
// The reader that $SPTC_FUZZ_READER names, under libFuzzer.
#include "models/base/error.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/readers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>

namespace {

const sptc::fuzz::Reader& chosen_reader() {
  static const sptc::fuzz::Reader& reader = []() -> const sptc::fuzz::Reader& {
    const char* const name = std::getenv("SPTC_FUZZ_READER");
    const sptc::fuzz::Reader* const found = sptc::fuzz::find_reader(name == nullptr ? std::string_view() : name);
    if (found == nullptr) {
      std::cerr << "SPTC_FUZZ_READER must be one of:";
      for (const sptc::fuzz::Reader& known : sptc::fuzz::readers()) {
        std::cerr << ' ' << known.name;
      }
      std::cerr << '\n';
      std::exit(2);
    }
    return *found;
  }();
  return reader;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

/// Documents stay documents in seven of eight changes.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  if (chosen_reader().content == sptc::fuzz::Content::kJson && seed % 8 != 0) {
    const auto text = sptc::fuzz::mutate_json({reinterpret_cast<const char*>(data), size}, seed);
    if (text && text->size() <= most) {
      std::memcpy(data, text->data(), text->size());
      return text->size();
    }
  }
  return LLVMFuzzerMutate(data, size, most);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    chosen_reader().read(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const sptc::base::InputError&) {
    return 0;  // refused with a sentence
  }
  return 0;
}

/// libsystemc asks for it; libFuzzer owns main().
extern "C" int sc_main(int /*argc*/, char** /*argv*/) {
  return EXIT_FAILURE;
}
