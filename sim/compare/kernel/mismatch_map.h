// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/compare/kernel/kernel_crosscheck.h"
#include "sim/compare/kernel/kernel_file.h"

#include <string>
#include <string_view>

namespace sptc::compare::kernel {

/// D in characters, of which each stands for a rectangle of elements; empty where none of them
/// would say "equal".
std::string map_text(const KernelDiagnosis& diagnosis);

enum class MapFormat { kSvg, kPng };
/// By the ending of `path`. Throws InputError where it is neither .svg nor .png.
MapFormat map_format(std::string_view path);

/// The same as an image: where D differs, what is explained in another colour. The SVG names the
/// places, too.
std::string map_image(const KernelCase& kernel, const KernelDiagnosis& diagnosis, MapFormat format);

}  // namespace sptc::compare::kernel
