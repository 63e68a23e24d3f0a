// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/mma/catalogue.h"
#include "models/numerics/data_type.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sptc::prune {

/// What a library asks of weights [m, k] of a type, and of n: multiples, which are also the least.
struct LibraryRule {
  std::string_view library;
  numerics::DataType type = numerics::DataType::kF16;
  bool sparse = true;
  int least_sm = 80;  ///< 10 times the compute capability
  std::int64_t m = 1, k = 1, n = 1;
  bool pads_n = false;        ///< it pads n itself
  std::string_view source;    ///< where it says so
  bool k_contiguous = false;  ///< it takes weights [m, k] alone, not [k, m]
  int most_sm = 0;            ///< 0: any above `least_sm`
};

/// One product D [m, n] = A [m, k] B [k, n]; n is 0 where only the weights are known.
struct ProductShape {
  std::string name;
  std::int64_t m = 0, n = 0, k = 0;
  numerics::DataType type = numerics::DataType::kF16;
  std::string stored{};  ///< how a file has it, where not as one tensor: "2:4 already, as marlin-24"
  bool k_first = false;  ///< the weights are stored [k, m]
};

struct Legality {
  const LibraryRule* rule = nullptr;
  std::string reason{};  ///< why it does not; empty where it does
  ProductShape nearest;  ///< the smallest that it does and that holds this one; itself

  bool accepts() const { return reason.empty(); }
};

/// What the rules of the type of `shape` say of it on a GPU of compute capability `sm` / 10.
std::vector<Legality> legality_of(const ProductShape& shape, int sm);

/// The layers of the model at `model` that prune_model() would take, those that are 2:4 already, and those of
/// checkpoint_weights(), of `type`, without one of the type that their elements are executed as: f32 as tf32, codes of
/// 4 bits as s4. Throws InputError, also where there is none.
std::vector<ProductShape> shapes_of_model(const std::filesystem::path& model, std::optional<numerics::DataType> type);

/// What legality_of() says of each of `shapes` on `target`.
std::string legality_text(const std::vector<ProductShape>& shapes, const mma::Target& target);
/// One JSON object (schema "sptcsim-legal/0.1", configs/schema/legal.schema.json).
std::string legality_json(const std::vector<ProductShape>& shapes, const mma::Target& target);

}  // namespace sptc::prune
