// SPDX-License-Identifier: Apache-2.0
#include "sim/run/asked_types.h"

#include "models/base/error.h"
#include "sim/io/text_file.h"
#include "sim/run/kernel_runner.h"
#include "sim/workload/dense_role.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace sptc::run {
namespace {

using numerics::DataType;

constexpr int kBitsOfServing = 16;  ///< of what serving software does not quantise

/// What an operation is, as --dtype names it, and the type that `options` give it as such.
struct Part {
  std::string_view name;  ///< empty: a layer like any other
  std::optional<DataType> type;
};

/// Whether `options` treat parts differently; asked of each of a million points of a sweep.
bool tells_parts_apart(const SimulationOptions& options) {
  const PartTypes& parts = options.parts;
  return parts.attention || parts.router || parts.head || options.storage.weight ||
         (!parts.all && options.dtype && numerics::storage_bits(*options.dtype) < kBitsOfServing);
}

Part part_of(const SimulationOptions& options, const workload::Operation& op) {
  if (!tells_parts_apart(options)) {
    return {};
  }
  if (!op.weight) {
    return {"attention", options.parts.attention};
  }
  const std::string_view role = workload::dense_role(op.name);
  return role == "router" ? Part{"router", options.parts.router}
         : role == "head" ? Part{"lm_head", options.parts.head}
                          : Part{};
}

/// Whether `part` has SimulationOptions::dtype, where there is one.
bool is_converted(const SimulationOptions& options, const Part& part) {
  return part.name.empty() || options.parts.all ||
         (options.dtype && numerics::storage_bits(*options.dtype) >= kBitsOfServing);
}

}  // namespace

DataType asked_type(const SimulationOptions& options, const workload::Operation& op) {
  const Part part = part_of(options, op);
  return part.type                     ? *part.type
         : is_converted(options, part) ? options.dtype.value_or(op.dtype)
                                       : op.dtype;
}

void set_asked_type(const SimulationOptions& options, workload::Operation& op) {
  const DataType type = asked_type(options, op);
  if (type != op.dtype && op.storage.block_scaled()) {
    op.storage = {};  // those blocks were of the other type
  }
  const Part part = part_of(options, op);
  const kernels::OperandStorage& asked = options.storage;
  const bool of_all = !options.dtype && !asked.weight;  // blocks of what the workload has
  const bool stored = asked.weight ? op.weight && (part.name.empty() || options.parts.all)
                                   : !part.type && (of_all || is_converted(options, part));
  op.dtype = type;
  op.d_dtype = type_of_d(op, options);
  if (!asked.plain() && stored) {
    op.storage = asked;
  }
  if (const std::string why = kernels::impossible_storage(op.storage, op.dtype); !why.empty()) {
    throw base::InputError("'" + io::printable(op.name) + "' of " +
                           std::string(numerics::name(op.dtype)) + ": " + why);
  }
}

std::string types_text(const SimulationOptions& options) {
  std::string text = options.dtype ? std::string(numerics::name(*options.dtype)) : "as given";
  const PartTypes& parts = options.parts;
  text += parts.all && options.dtype ? ", all" : "";
  for (const auto& [name, type] : {std::pair("attention", parts.attention),
                                   {"router", parts.router},
                                   {"lm_head", parts.head}}) {
    text += type ? fmt::format(", {} {}", name, numerics::name(*type)) : "";
  }
  return text;
}

std::string kept_types(const SimulationOptions& options,
                       const std::vector<workload::Operation>& operations) {
  std::set<std::string> parts;
  std::string first;
  for (const workload::Operation& op : operations) {
    const Part part = part_of(options, op);
    if (options.dtype && !part.type && !is_converted(options, part) && op.dtype != *options.dtype) {
      parts.insert(fmt::format("{} in {}", part.name, numerics::name(op.dtype)));
      first = first.empty() ? std::string(part.name) : first;
    }
  }
  if (parts.empty()) {
    return "";
  }
  return fmt::format(
      "--dtype {0} is of weights: {1} as serving software has them; --dtype all={0} converts them, "
      "too, and --dtype weights={0},{2}=TYPE one part",
      numerics::name(*options.dtype), fmt::join(parts, ", "), first);
}

}  // namespace sptc::run
