// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/microbench/microbench.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::microbench {

inline constexpr std::int64_t kMaxWarps = 64;
inline constexpr std::int64_t kMaxIlp = 255;

/// The published rows of the instruction called `name` (empty: of all), or it alone where none is
/// published or `warps` or `ilp` say how it runs. Throws InputError.
std::vector<MicrobenchCase> asked_cases(const gpu::GpuSpec& spec, const std::string& name,
                                        std::optional<int> warps, std::optional<int> ilp);

/// Simulates them on one SM: once per process.
std::vector<MicrobenchResult> run_cases(const gpu::GpuSpec& spec,
                                        const std::vector<MicrobenchCase>& cases);

std::string rows_text(const gpu::GpuSpec& spec, const std::vector<MicrobenchResult>& rows);
std::string rows_csv(const std::vector<MicrobenchResult>& rows);
/// One JSON object (configs/schema/microbench.schema.json).
std::string rows_json(const gpu::GpuSpec& spec, const std::vector<MicrobenchResult>& rows,
                      std::string_view version);

}  // namespace sptc::microbench
