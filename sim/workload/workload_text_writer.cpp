// SPDX-License-Identifier: Apache-2.0
#include "models/numerics/data_type.h"
#include "sim/io/json_reader.h"
#include "sim/io/text_file.h"
#include "sim/workload/recording.h"
#include "sim/workload/workload_text.h"

#include <type_traits>

namespace sptc::workload {
namespace {

using nlohmann::ordered_json;

/// Sets `key` where its value is another than that of a file that does not say it.
template <typename Value>
void put(ordered_json& json, const char* key, const Value& value, const std::type_identity_t<Value>& absent = {}) {
  if (value != absent) {
    json[key] = value;
  }
}

ordered_json conv_json(const ConvGeometry& conv) {
  return {
      {"N", conv.n},          {"C", conv.c}, {"H", conv.h},           {"W", conv.w},     {"K", conv.k},
      {"R", conv.r},          {"S", conv.s}, {"stride", conv.stride}, {"pad", conv.pad}, {"dilation", conv.dilation},
      {"groups", conv.groups}};
}

ordered_json recorded_json(const Recorded& recorded) {
  ordered_json json = ordered_json::object();
  put(json, "time_us", recorded.time_us);
  put(json, "kernel", recorded.kernel);
  put(json, "d_dtype", recorded.d_dtype);
  put(json, "sparse", recorded.sparse);
  if (recorded.tile.k > 0) {
    json["tile"] = {recorded.tile.m, recorded.tile.n, recorded.tile.k};
  }
  put(json, "stages", recorded.stages);
  put(json, "split_k", recorded.split_k);
  put(json, "epilogue", recorded.epilogue);
  put(json, "adds_c", recorded.adds_c);
  return json;
}

ordered_json operation_json(const Operation& op) {
  ordered_json json{{"name", op.name},
                    {"kind", op.conv ? "conv2d" : "gemm"},
                    {"m", op.shape.m},
                    {"n", op.shape.n},
                    {"k", op.shape.k},
                    {"batch", op.batch},
                    {"count", op.count},
                    {"dtype", numerics::name(op.dtype)},
                    {"prunable_2_4", op.prunable}};
  if (op.storage.weight) {
    json["weight_dtype"] = numerics::name(*op.storage.weight);
  }
  put(json, "scale_block", op.storage.scale_block);
  if (op.conv) {
    json["conv"] = conv_json(*op.conv);
  }
  if (op.b_is_zero) {
    json["b"] = "zeros";
  }
  put(json, "group", op.group);
  if (op.cut) {
    json["cut"] = kCuts.at(static_cast<std::size_t>(*op.cut));
  }
  if (op.rest.any()) {
    json["rest_ns"] = op.rest.ns;
    json["rest_bytes"] = op.rest.bytes;
  }
  if (ordered_json recorded = recorded_json(op.recorded); !recorded.empty()) {
    json["recorded"] = std::move(recorded);
  }
  return json;
}

ordered_json not_taken_json(const NotTaken& launch) {
  ordered_json json{{"name", launch.name},   {"m", launch.shape.m},    {"n", launch.shape.n},
                    {"k", launch.shape.k},   {"batch", launch.batch},  {"dtype", launch.dtype},
                    {"count", launch.count}, {"reason", launch.reason}};
  if (launch.dtype.empty()) {
    json.erase("dtype");
  }
  put(json, "time_us", launch.time_us);
  return json;
}

ordered_json account_json(const Account& account) {
  ordered_json json{{"format", account.format}};
  put(json, "gpu", account.gpu);
  put(json, "arch", account.arch);
  put(json, "kernels_us", account.kernels_us);
  json["notes"] = account.notes;
  return json;
}

ordered_json vector_json(const VectorOperation& op) {
  ordered_json json{
      {"name", op.name}, {"kind", name(op.kind)}, {"rows", op.rows}, {"columns", op.columns}, {"count", op.count}};
  put(json, "inputs", op.tensors, info(op.kind).tensors);
  put(json, "outputs", op.outputs, 1);
  put(json, "input_rows", op.input_rows, op.rows);
  put(json, "causal", op.causal);
  return json;
}

ordered_json operations_json(const Workload& workload) {
  ordered_json json = ordered_json::array();
  auto next = workload.vectors.begin();
  for (std::size_t i = 0; i <= workload.operations.size(); ++i) {
    for (; next != workload.vectors.end() && next->after <= i; ++next) {
      json.push_back(vector_json(*next));
    }
    if (i == workload.operations.size()) {
      break;
    }
    const Operation& op = workload.operations[i];
    json.push_back(operation_json(op));
    // Nobody asks which operands of a list of GEMMs alone are weights.
    if (!workload.vectors.empty() && !op.weight) {
      json.back()["weight_operand"] = nullptr;
    }
    put(json.back(), "input", op.input);
  }
  return json;
}

}  // namespace

std::string workload_json(const Recording& recording) {
  const Workload& workload = recording.workload;
  if (workload.network) {
    io::refuse("{}: a network with real values is a workload already", io::printable(workload.file.string()));
  }
  const bool parametric = !recording.parametric.empty();
  ordered_json json{{"schema", kWorkloadSchema}, {"name", title(workload)}};
  if (parametric) {
    json = ordered_json::parse(recording.parametric);
  }
  put(json, "source", workload.source);
  if (!recording.account.format.empty()) {
    json["account"] = account_json(recording.account);
  }
  if (parametric) {  // after what it is read from
    ordered_json ops = std::move(json["ops"]);
    json.erase("ops");
    json["ops"] = std::move(ops);
  } else {
    put(json, "inputs", workload.inputs);
    json["ops"] = operations_json(workload);
  }
  for (const NotTaken& launch : workload.not_taken) {
    json["not_taken"].push_back(not_taken_json(launch));
  }
  // A name may hold any bytes.
  return io::json_text(json, 1) + "\n";
}

WorkloadText gemms_as_text(const std::string& name, std::span<const Operation> gemms) {
  ordered_json ops = ordered_json::array();
  for (const Operation& gemm : gemms) {
    ops.push_back(operation_json(gemm));
  }
  const ordered_json json{{"schema", kWorkloadSchema}, {"name", name}, {"ops", std::move(ops)}};
  return {io::json_text(json), "workload"};
}

}  // namespace sptc::workload
