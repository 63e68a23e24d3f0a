// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/io/text_file.h"
#include "sim/kernels/operand_storage.h"
#include "sim/workload/workload.h"

namespace sptc::workload {

/// Reads the text of a `.json` file; `file` is for messages, and a network's tensor file lies in
/// its directory. `dims` replaces defaults. Throws InputError.
Workload parse_workload_json(std::string_view text, const std::filesystem::path& file, const NamedDims& dims = {});

using io::place_among;

/// What M of a file in CSV counts.
enum class Convention {
  kWeightFirst,  ///< output features: A[m,k] is the weight
  kTokensFirst,  ///< tokens, as in PyTorch: m and n are swapped
};
/// "weight-first" or "tokens-first". Throws InputError.
Convention parse_convention(std::string_view name);

/// The same from the text of a `.csv` file.
Workload parse_workload_csv(std::string_view text, const std::filesystem::path& file,
                            Convention convention = Convention::kWeightFirst);

/// A workload as it was written. It can travel to another process and be read there again.
struct WorkloadText {
  std::string text;
  std::filesystem::path file;  ///< CSV where its name ends in ".csv", else JSON
  NamedDims dims{};            ///< replace the defaults
};
/// The text of a file that read_workload() takes. Throws InputError.
WorkloadText read_workload_text(const std::filesystem::path& path, const NamedDims& dims = {});
/// GEMMs by name, extents, batch, count, type and whether they are prunable.
WorkloadText gemms_as_text(const std::string& name, std::span<const Operation> gemms);
Workload to_workload(const WorkloadText& text);

inline constexpr std::string_view kWorkloadSchema = "gemm-workload/0.2";

/// Largest m, n, k, batch or count of an operation: the 32-bit integers of BLAS.
inline constexpr std::int64_t kMaxExtent = 2147483647;

/// Largest extent of a tile, and number of stages or slices of K, that a recording may state.
inline constexpr std::int64_t kMostTileExtent = 4096;
inline constexpr std::int64_t kMostRecorded = 65536;

/// Longest time of a launch that a recording may state: eleven days.
inline constexpr double kMaxRecordedUs = 1e12;

/// Largest rest_ns and rest_bytes: what a double counts exactly.
inline constexpr std::int64_t kMaxRest = std::int64_t{1} << 53;
/// What the column or key "b" says where B is zeros.
inline constexpr std::string_view kZeroB = "zeros";
/// Bytes take time.
constexpr bool is_possible(const Rest& rest) {
  return rest.bytes == 0 || rest.ns > 0;
}
inline constexpr std::string_view kImpossibleRest = "rest_bytes without rest_ns: bytes take time";

/// Nothing where `name` is none, which unknown_operand_type() then says.
std::optional<numerics::DataType> parse_operand_type(std::string_view name);
/// The same for the names that other programs have, too (fp16, half, bfloat16, int8, fp8), and for
/// formats whose blocks have scales (nvfp4, mxfp8, mxfp4).
std::optional<kernels::OperandFormat> parse_operand_format(std::string_view name);
std::span<const std::string_view> kernel_operand_types();
/// `more`: what its reader takes beside these and the formats with scales.
std::string unknown_operand_type(std::string_view name, std::span<const std::string_view> more = {});

/// The type of quantised weights called `name`: s8 or s4; nothing where it is none.
std::optional<numerics::DataType> parse_weight_type(std::string_view name);
std::string unknown_weight_type(std::string_view name);
inline constexpr std::int64_t kMostInScaleBlock = 65536;

/// Adds the multiply-accumulates of `op` to `total`; false where the sum does not fit 64 bits.
bool add_macs(std::int64_t& total, const Operation& op);

}  // namespace sptc::workload
