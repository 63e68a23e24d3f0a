// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/input/json_stream.h"
#include "sim/workload/profile/events.h"
#include "sim/workload/profile/readers.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace sptc::workload::profile {
namespace {

constexpr int kNoEvents = -1;

/// One event while it is read.
struct Event {
  std::string phase, category;
  std::uint64_t process = 0, thread = 0;
  std::int64_t device = 0;
  double begin = 0, duration = 0;
  std::int64_t external = 0, correlation = 0;
  TorchCall call;

  void clear() {
    phase.clear();
    category.clear();
    process = thread = 0;
    device = 0;
    begin = duration = 0;
    external = correlation = 0;
    call.clear();
  }
};

class KinetoReader : public input::JsonStream {
 public:
  explicit KinetoReader(const std::string& file) : input::JsonStream(file) {}

  ProfileEvents take() && { return std::move(builder_.events); }

 protected:
  void on_key(std::string& key) override {
    if (depth() == 1) {
      top_ = key;
      return;
    }
    if (event_depth_ == kNoEvents) {
      device_name_ = top_ == "deviceProperties" && key == "name";
      return;
    }
    const int below = depth() - event_depth_;
    field_ = below == 0                    ? event_field(key)
             : below == 1 && in_arguments_ ? argument_field(key)
                                           : Field::kNone;
  }

  void on_open(bool array) override {
    if (event_depth_ == kNoEvents) {
      const bool bare = depth() == 1 && array;
      if (bare || (depth() == 2 && array && top_ == "traceEvents")) {
        event_depth_ = depth() + 1;
        event_number_ = 0;
      }
      return;
    }
    if (depth() == event_depth_) {
      event_.clear();
      in_arguments_ = false;
      field_ = Field::kNone;
    } else if (depth() == event_depth_ + 1) {
      in_arguments_ = field_ == Field::kArguments;
    } else if (depth() == event_depth_ + 3) {  // one input of a list of them
      start_input();
    }
  }

  void on_close(bool /*array*/) override {
    if (event_depth_ == kNoEvents) {
      return;
    }
    if (depth() == event_depth_ - 1) {  // depth() is that outside
      finish_event();
      ++event_number_;
    } else if (depth() == event_depth_) {
      in_arguments_ = false;
    } else if (depth() == event_depth_ - 2) {
      event_depth_ = kNoEvents;
    }
  }

  void on_integer(std::int64_t value) override {
    const int below = depth() - event_depth_;
    if (event_depth_ == kNoEvents) {
      return;
    }
    if (below == 3) {
      add_extent(value);
    } else if (below <= 1) {
      on_number(static_cast<double>(value));
      if (field_ == Field::kExternal) {
        event_.external = value;
      } else if (field_ == Field::kCorrelation) {
        event_.correlation = value;
      } else if (field_ == Field::kDevice) {
        event_.device = value;
      } else if (field_ == Field::kProcess) {
        event_.process = static_cast<std::uint64_t>(value);
      } else if (field_ == Field::kThread) {
        event_.thread = static_cast<std::uint64_t>(value);
      }
    }
  }

  void on_float(double value) override {
    if (event_depth_ != kNoEvents && depth() - event_depth_ <= 1) {
      on_number(value);
    }
  }

  void on_text(std::string& value) override {
    if (event_depth_ == kNoEvents) {
      if (device_name_) {
        builder_.add_gpu(value);
      }
      return;
    }
    const int below = depth() - event_depth_;
    if (below == 0) {
      event_text(value);
    } else if (below == 2 && in_arguments_) {
      if (field_ == Field::kTypes) {
        event_.call.types.push_back(std::move(value));
      } else if (field_ == Field::kValues) {
        event_.call.values.push_back(std::move(value));
      }
    }
  }

 private:
  enum class Field {
    kNone,
    kPhase,
    kCategory,
    kName,
    kProcess,
    kThread,
    kBegin,
    kDuration,
    kArguments,
    kExternal,
    kCorrelation,
    kDevice,
    kDims,
    kStrides,
    kTypes,
    kValues
  };

  static Field event_field(std::string_view key) {
    return key == "ph"     ? Field::kPhase
           : key == "cat"  ? Field::kCategory
           : key == "name" ? Field::kName
           : key == "pid"  ? Field::kProcess
           : key == "tid"  ? Field::kThread
           : key == "ts"   ? Field::kBegin
           : key == "dur"  ? Field::kDuration
           : key == "args" ? Field::kArguments
                           : Field::kNone;
  }
  static Field argument_field(std::string_view key) {
    return key == "External id" || key == "external id" ? Field::kExternal
           : key == "correlation"                       ? Field::kCorrelation
           : key == "device"                            ? Field::kDevice
           : key == "Input Dims" || key == "Input dims" ? Field::kDims
           : key == "Input Strides"                     ? Field::kStrides
           : key == "Input type"                        ? Field::kTypes
           : key == "Concrete Inputs"                   ? Field::kValues
                                                        : Field::kNone;
  }

  void event_text(std::string& value) {
    switch (field_) {
      case Field::kPhase:
        event_.phase = std::move(value);
        break;
      case Field::kCategory:
        event_.category = std::move(value);
        break;
      case Field::kName:
        event_.call.name = std::move(value);
        break;
      case Field::kProcess:
        event_.process = std::hash<std::string>()(value);
        break;
      case Field::kThread:
        event_.thread = std::hash<std::string>()(value);
        break;
      default:
        break;
    }
  }

  void on_number(double value) {
    if (field_ == Field::kBegin) {
      event_.begin = value;
    } else if (field_ == Field::kDuration) {
      event_.duration = value;
    }
  }

  std::vector<std::vector<std::int64_t>>* extents_of_field() {
    return field_ == Field::kDims      ? &event_.call.dims
           : field_ == Field::kStrides ? &event_.call.strides
                                       : nullptr;
  }

  void start_input() {
    auto* extents = in_arguments_ ? extents_of_field() : nullptr;
    if (extents != nullptr && extents->size() < kMaxInputs) {
      extents->emplace_back();
    }
  }

  void add_extent(std::int64_t value) {
    auto* extents = in_arguments_ ? extents_of_field() : nullptr;
    if (extents != nullptr && !extents->empty() && extents->back().size() < kMaxInputs) {
      extents->back().push_back(value);
    }
  }

  /// Of a process and its thread, or of a process of a GPU and its device.
  static std::uint64_t mixed(std::uint64_t first, std::uint64_t second) {
    constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15U;
    return first * kMix + second;
  }
  std::uint64_t thread() const { return mixed(event_.process, event_.thread); }

  void finish_event() {
    if (event_.phase != "X") {
      return;
    }
    const std::string_view category = event_.category;
    // The profiler that PyTorch had before Kineto writes no categories.
    const bool operation = category == "cpu_op" || category == "Operator" ||
                           (category.empty() && event_.call.name.starts_with("aten::"));
    if (operation) {
      builder_.add_op(event_.process, thread(), event_.begin, event_.duration, event_.external,
                      event_.call,
                      [this] { return fmt::format("{}: /traceEvents/{}", file(), event_number_); });
    } else if (category == "kernel" || category == "Kernel") {
      const std::uint64_t gpu = mixed(event_.process, static_cast<std::uint64_t>(event_.device));
      const auto device = devices_.emplace(gpu, static_cast<std::uint32_t>(devices_.size())).first;
      builder_.add_kernel(
          {event_.begin, event_.duration, event_.external, event_.correlation, 0, device->second},
          event_.call.name);
    } else if (category == "cuda_runtime" || category == "cuda_driver" || category == "Runtime") {
      builder_.add_call(event_.process, thread(), event_.begin, event_.correlation);
    } else if (category == "user_annotation" && event_.call.name.starts_with("ProfilerStep#")) {
      builder_.add_step(event_.process, {event_.call.name, event_.begin,
                                         event_.begin + std::max(event_.duration, 0.0)});
    }
  }

  ProfileBuilder builder_;
  std::unordered_map<std::uint64_t, std::uint32_t> devices_;
  Event event_;
  std::string top_;
  bool device_name_ = false;
  int event_depth_ = kNoEvents;  ///< depth() inside an event
  bool in_arguments_ = false;
  Field field_ = Field::kNone;
  std::size_t event_number_ = 0;
};

}  // namespace

void read_kineto(input::InputStream& input, const ImportOptions& options, Recording& recording) {
  KinetoReader reader(input.name());
  reader.read(input.stream());
  recording.account.add_note(reader.repairs());
  ProfileEvents events = std::move(reader).take();
  take_profile(
      events, input.name(),
      "a kernel without operation, as graph replay leaves them: no shapes; record without CUDA "
      "graphs",
      options.tf32, recording);
}

}  // namespace sptc::workload::profile
