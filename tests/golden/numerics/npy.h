// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace sptc::golden {

/// An npy array of unsigned words of 1, 2 or 4 bytes, read with code of its own: a bug in the
/// reader of the program must not bend the vectors.
struct NpyWords {
  std::vector<std::size_t> shape;
  std::vector<std::uint32_t> words;

  explicit NpyWords(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    if (bytes.size() < 10 || bytes.substr(1, 5) != "NUMPY") {
      ADD_FAILURE() << path << " is no npy file";
      return;
    }
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
    const std::size_t header = byte(8) + 256U * byte(9);
    const std::string text = bytes.substr(10, header);
    const std::size_t descr = text.find("'descr': '") + 10;
    const auto width = static_cast<std::size_t>(text[descr + 2] - '0');
    for (std::size_t at = text.find('(') + 1; text[at] != ')';) {
      if (std::isdigit(static_cast<unsigned char>(text[at])) == 0) {
        ++at;
        continue;
      }
      std::size_t digits = 0;
      shape.push_back(std::stoul(text.substr(at), &digits));
      at += digits;
    }
    for (std::size_t at = 10 + header; at + width <= bytes.size(); at += width) {
      std::uint32_t word = 0;
      for (std::size_t i = 0; i < width; ++i) {
        word |= static_cast<std::uint32_t>(byte(at + i)) << (8 * i);
      }
      words.push_back(word);
    }
    std::size_t elements = 1;
    for (const std::size_t extent : shape) {
      elements *= extent;
    }
    EXPECT_EQ(words.size(), elements) << path;
  }

  /// Element [i, j, k] of a 3-D array.
  std::uint32_t at(std::size_t i, std::size_t j, std::size_t k) const {
    return words[(i * shape[1] + j) * shape[2] + k];
  }
};

}  // namespace sptc::golden
