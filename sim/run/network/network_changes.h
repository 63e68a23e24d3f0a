// SPDX-License-Identifier: Apache-2.0
//
// What an engine makes of the operations of a network before kernels are planned.
#pragma once

#include "sim/run/network/engine.h"
#include "sim/workload/workload.h"

#include <string>
#include <vector>

namespace sptc::run::network {

/// Weights that multiply the same input become one GEMM with the rows of all, where `engine` has a
/// rule for that and nothing but its operations stands between them: the queries, keys and values
/// of a layer. Changes both lists.
void merge_siblings(const EngineSpec& engine, std::vector<workload::Operation>& gemms,
                    std::vector<workload::VectorOperation>& vectors);

/// What operations of `engine.wide` write is f32, and what they write passes others as it is. GEMMs
/// read the type of their operands: a conversion stands before those whose input is f32, or, where
/// `engine` fuses copies with what wrote it, that writes both. Changes `vectors`, of which nothing
/// changes where the engine has no such operations.
void widen_tensors(const EngineSpec& engine, const std::vector<workload::Operation>& gemms,
                   std::vector<workload::VectorOperation>& vectors);

/// Throws InputError where the software of `engine` does not multiply a weight of `gemms` in its
/// type, or not on its board.
void require_types(const EngineSpec& engine, const std::vector<workload::Operation>& gemms);

/// Weights for whose type `engine` has no 2:4 kernels cannot be pruned. Returns why, of the first;
/// empty where it has kernels for all.
std::string keep_dense_without_kernels(const EngineSpec& engine, std::vector<workload::Operation>& gemms);

/// Puts a quantisation before each GEMM whose activations `engine` turns from 16 bits into its type
/// (EngineSpec::quantisation()), once for compiled neighbours that read one tensor. It writes 8
/// bits or 4 and, of block formats, their scales, in whole bits. Tokens that an all_to_all sends to
/// experts are quantised before it. Nothing changes where the workload lists no operations beside
/// GEMMs. Changes `vectors`.
void quantise_inputs(const EngineSpec& engine, const std::vector<workload::Operation>& gemms,
                     std::vector<workload::VectorOperation>& vectors);

}  // namespace sptc::run::network
