// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/digest.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"

#include <array>
#include <fstream>
#include <memory>
#include <openssl/evp.h>

namespace sptc::sweep {
namespace {

class Sha256 {
 public:
  Sha256() {
    base::ensure(EVP_DigestInit_ex(context_.get(), algorithm(), nullptr) == 1, "no SHA-256");
  }

  void add(std::string_view bytes) {
    base::ensure(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1,
                 "SHA-256 failed");
  }

  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned length = 0;
    base::ensure(EVP_DigestFinal_ex(context_.get(), digest.data(), &length) == 1, "SHA-256 failed");
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (unsigned i = 0; i < length; ++i) {
      text += kDigits[digest[i] >> 4];
      text += kDigits[digest[i] & 15];
    }
    return text;
  }

 private:
  // Looked up once: the search through the providers takes longer than a digest.
  static const EVP_MD* algorithm() {
    static const EVP_MD* const found = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    return found;
  }

  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_{EVP_MD_CTX_new(),
                                                                   EVP_MD_CTX_free};
};

}  // namespace

std::string sha256(std::string_view bytes) {
  Sha256 digest;
  digest.add(bytes);
  return digest.hex();
}

std::string sha256_of_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    throw base::InputError(io::printable(file.string()) + ": cannot be opened for reading");
  }
  Sha256 digest;
  std::array<char, 65536> buffer{};
  while (stream.read(buffer.data(), buffer.size()) || stream.gcount() > 0) {
    digest.add({buffer.data(), static_cast<std::size_t>(stream.gcount())});
  }
  return digest.hex();
}

const std::string& program_digest() {
  static const std::string digest = sha256_of_file("/proc/self/exe");
  return digest;
}

}  // namespace sptc::sweep
