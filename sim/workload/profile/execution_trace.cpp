// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/input/json_stream.h"
#include "sim/workload/profile/readers.h"
#include "sim/workload/profile/torch_call.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace sptc::workload::profile {
namespace {

constexpr int kNodeDepth = 3;  // {"nodes": [{

/// A node has "inputs", "input_shapes" and "input_types" (schema 1.0), or "inputs": {"values",
/// "shapes", "types", "strides"} (1.1).
class TraceReader : public input::JsonStream {
 public:
  TraceReader(const std::string& file, bool tf32) : input::JsonStream(file), tf32_(tf32) {}

  LaunchList take() && { return std::move(launches_); }

 protected:
  void on_key(std::string& key) override {
    if (depth() == 1) {
      in_nodes_ = key == "nodes";
    } else if (in_nodes_ && depth() == kNodeDepth) {
      field_ = key == "name"            ? Field::kName
               : key == "inputs"        ? Field::kValues
               : key == "input_shapes"  ? Field::kDims
               : key == "input_types"   ? Field::kTypes
               : key == "input_strides" ? Field::kStrides
                                        : Field::kNone;
      list_depth_ = kNodeDepth + 1;
    } else if (in_nodes_ && depth() == kNodeDepth + 1 && in_inputs_) {
      field_ = key == "values"    ? Field::kValues
               : key == "shapes"  ? Field::kDims
               : key == "types"   ? Field::kTypes
               : key == "strides" ? Field::kStrides
                                  : Field::kNone;
      list_depth_ = kNodeDepth + 2;
    }
  }

  void on_open(bool array) override {
    if (!in_nodes_) {
      return;
    }
    if (depth() == kNodeDepth) {
      call_.clear();
      field_ = Field::kNone;
    } else if (depth() == kNodeDepth + 1 && !array) {
      in_inputs_ = field_ == Field::kValues;
    } else if (depth() == list_depth_ + 1) {
      start_input();
    }
  }

  void on_close(bool array) override {
    if (!in_nodes_) {
      return;
    }
    if (depth() == list_depth_ && field_ == Field::kValues && array && !call_.values.empty()) {
      call_.values.back() += "]";
    }
    if (depth() == kNodeDepth && !array) {
      in_inputs_ = false;
    } else if (depth() == kNodeDepth - 1) {
      finish_node();
      ++number_;
    } else if (depth() == 1) {
      in_nodes_ = false;
    }
  }

  void on_integer(std::int64_t value) override {
    if (!in_nodes_) {
      return;
    }
    if (auto* extents = extents_of_field(); depth() == list_depth_ + 1 && extents != nullptr &&
                                            !extents->empty() &&
                                            extents->back().size() < kMaxInputs) {
      extents->back().push_back(value);
    }
    add_value(std::to_string(value));
  }

  void on_float(double /*value*/) override {
    if (in_nodes_) {
      add_value("?");
    }
  }

  void on_word(std::string_view word) override {
    if (in_nodes_) {
      add_value(word);
    }
  }

  void on_text(std::string& value) override {
    if (!in_nodes_) {
      return;
    }
    if (depth() == kNodeDepth && field_ == Field::kName) {
      call_.name = std::move(value);
    } else if (depth() == list_depth_ && field_ == Field::kTypes) {
      call_.types.push_back(std::move(value));
    } else {
      add_value("?");
    }
  }

 private:
  enum class Field { kNone, kName, kValues, kDims, kTypes, kStrides };

  std::vector<std::vector<std::int64_t>>* extents_of_field() {
    return field_ == Field::kDims      ? &call_.dims
           : field_ == Field::kStrides ? &call_.strides
                                       : nullptr;
  }

  void start_input() {
    auto* extents = extents_of_field();
    if (extents != nullptr && extents->size() < kMaxInputs) {
      extents->emplace_back();
    } else if (field_ == Field::kValues && call_.values.size() < kMaxInputs) {
      call_.values.emplace_back("[");
    }
  }

  /// A value of its own, or one of a list.
  void add_value(std::string_view text) {
    if (field_ != Field::kValues || call_.values.size() >= kMaxInputs) {
      return;
    }
    if (depth() == list_depth_) {
      call_.values.emplace_back(text);
    } else if (depth() == list_depth_ + 1 && !call_.values.empty()) {
      std::string& list = call_.values.back();
      list += (list == "[" ? "" : ",") + std::string(text);
    }
  }

  void finish_node() {
    if (!is_leaf_gemm(call_.name)) {
      return;
    }
    const std::string place = fmt::format("{}: /nodes/{}", file(), number_);
    for (RecordedLaunch& launch : launches_of(call_, place)) {
      apply_no_kernel(call_, tf32_, launch);
      launches_.add(std::move(launch), place);
    }
  }

  bool tf32_;
  LaunchList launches_;
  TorchCall call_;
  bool in_nodes_ = false, in_inputs_ = false;
  Field field_ = Field::kNone;
  int list_depth_ = 0;  ///< depth() inside the list of a field
  std::size_t number_ = 0;
};

}  // namespace

void read_execution_trace(input::InputStream& input, const ImportOptions& options,
                          Recording& recording) {
  TraceReader reader(input.name(), options.tf32);
  reader.read(input.stream());
  recording.account.add_note(reader.repairs());
  std::move(std::move(reader).take()).move_to(recording, input.name());
  for (std::string& ground : grounds_of(recording.workload.operations)) {
    recording.account.add_note(std::move(ground));
  }
}

}  // namespace sptc::workload::profile
