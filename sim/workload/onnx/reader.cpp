// SPDX-License-Identifier: Apache-2.0
#include "sim/io/text_file.h"
#include "sim/workload/onnx/walker.h"
#include "sim/workload/readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

namespace sptc::workload::onnx {
namespace {

constexpr std::string_view kTf32Note =
    "ONNX says no type of computation: float GEMMs are taken as TF32, quantized ones as INT8; "
    "--dtype f16 changes all of them";

bool recognises(const Head& of_file) {
  const std::string_view head = of_file.text;
  // ir_version, which is field 1, and then a field that a model begins with.
  constexpr std::string_view kNext = "\x12\x1A\x22\x28\x2A\x32\x3A\x42";
  constexpr char kMostVersions = 32;
  return head.size() > 3 && head[0] == '\x08' && head[1] > 0 && head[1] < kMostVersions &&
         kNext.find(head[2]) != std::string_view::npos;
}

void read(input::InputStream& input, const ImportOptions& options, Recording& recording) {
  constexpr std::size_t kMaxBytes = std::size_t{2} << 30;  // of protobuf
  const auto bytes = std::make_shared<ModelBytes>(input.rest(kMaxBytes), input.path());
  Model model = parse_onnx(bytes->model(), input.name());
  bytes->open_external(model, input.name());
  Walker walker(model, options, input.name(), bytes);
  recording.workload.vectors = vector_operations(walker.steps());
  recording.workload.inputs = walker.inputs_at_once();
  std::vector<std::string>& notes = recording.account.notes;
  notes.emplace_back(kTf32Note);
  notes.emplace_back(
      "A is the operand that the model holds as a weight; of two activations it is the second");
  recording.account.add_notes(walker.notes());
  if (!bytes->absent().empty()) {
    notes.push_back(fmt::format("weights in {} are not there, so that their values are generated",
                                io::printable(*bytes->absent().begin())));
  }
  std::move(walker).take().move_to(recording, input.name());
  const auto few_bits =
      std::count_if(recording.workload.operations.begin(), recording.workload.operations.end(),
                    [](const Operation& op) { return op.storage.weight.has_value(); });
  if (few_bits > 0) {
    notes.push_back(fmt::format(
        "weights of 4 or 8 bits in {} operations are dequantised in registers to f16 or bf16: "
        "kernels of such weights have no TF32",
        few_bits));
  }
  recording.account.add_notes(mark_sparse_weights(recording.workload.operations));
}

}  // namespace

const Reader kModel{"ONNX model", recognises, read, true};

}  // namespace sptc::workload::onnx
