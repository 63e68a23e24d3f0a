// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/shape.h"
#include "models/numerics/data_type.h"
#include "sim/run/simulation_options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sptc::run {

// Values of options, from text. Each throws InputError "<what> must be ..., not '<text>'".

/// An integer from `min` to `max`.
std::int64_t parse_integer(std::string_view what, const std::string& text, std::int64_t min,
                           std::int64_t max);

/// An integer from 1 to `max`.
std::int64_t parse_positive(std::string_view what, const std::string& text, std::int64_t max);

/// An integer from 0 to 2^64-1.
std::uint64_t parse_seed(const std::string& text);

/// "limited", "boost", or MHz from 1 to 100000; empty: the default.
ClockChoice parse_clock(const std::string& text);

/// "MxNxK".
base::GemmShape parse_tile(const std::string& text);

/// A type of operands of GEMM kernels.
numerics::DataType parse_dtype(const std::string& text);
numerics::DataType parse_weight_dtype(const std::string& text);

/// "e4m3", "all=e4m3" or "weights=e4m3,attention=bf16,router=bf16,lm_head=bf16" as
/// SimulationOptions::dtype and parts.
void parse_types(const std::string& text, SimulationOptions& options);

/// More than 0 and at most 100000.
double parse_watts(std::string_view what, const std::string& text);

/// GB/s, more than 0 and at most 100000.
double parse_rate(std::string_view what, const std::string& text);

/// "FIRST:LAST", cycles, the last behind the first.
std::pair<std::int64_t, std::int64_t> parse_window(std::string_view what, const std::string& text);

/// "ROW,COL", an element of D of a fragment.
std::pair<int, int> parse_element(std::string_view what, const std::string& text);

/// Whether the weights that gain are chosen: true for "auto", false for "all", nothing for a file:
/// a path, with a '/' or a '.'.
std::optional<bool> parse_sparsity_choice(std::string_view text);

/// The name of a .npz file.
std::string parse_archive(std::string_view what, const std::string& text);

/// "true" or "false".
bool parse_switch(std::string_view what, std::string_view text);

}  // namespace sptc::run
