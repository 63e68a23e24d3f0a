// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/digest.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <memory>
#include <new>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sptc::sweep {
namespace {

std::string hex(const XXH128_hash_t& hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace

std::string fingerprint(std::string_view bytes) {
  return hex(XXH3_128bits(bytes.data(), bytes.size()));
}

std::string fingerprint_of_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    throw base::InputError(io::printable(file.string()) + ": cannot be opened for reading");
  }
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       XXH3_freeState);
  if (state == nullptr) {
    throw std::bad_alloc();
  }
  XXH3_128bits_reset(state.get());
  std::array<char, 65536> buffer{};
  while (stream.read(buffer.data(), buffer.size()) || stream.gcount() > 0) {
    XXH3_128bits_update(state.get(), buffer.data(), static_cast<std::size_t>(stream.gcount()));
  }
  return hex(XXH3_128bits_digest(state.get()));
}

const std::string& program_digest() {
  static const std::string kDigest = fingerprint_of_file("/proc/self/exe");
  return kDigest;
}

}  // namespace sptc::sweep
