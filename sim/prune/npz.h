// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/tensor_file.h"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace sptc::prune {

/// The arrays of a `.npz` file, a ZIP archive of `.npy` files as NumPy writes it, stored or
/// deflated; named as NumPy names them. Throws InputError, also for a wrong checksum.
std::vector<io::Tensor> read_npz(const std::filesystem::path& path);

/// The bytes of a `.npz` file of `tensors`, stored. Throws InputError beyond the 4 GiB that a ZIP
/// archive without extensions can count.
std::string npz_bytes(std::span<const io::Tensor> tensors);

}  // namespace sptc::prune
