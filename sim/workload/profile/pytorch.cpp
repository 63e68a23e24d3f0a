// SPDX-License-Identifier: Apache-2.0
//
// The JSON of torch.profiler, which Kineto writes, and of ExecutionTraceObserver.
#include "sim/workload/input/json_elements.h"
#include "sim/workload/profile/events.h"
#include "sim/workload/profile/torch_call.h"
#include "sim/workload/readers.h"

namespace sptc::workload::profile {
namespace {

using nlohmann::json;

/// The value of the first of `keys` that `object` has; null where there is none.
const json& member(const json& object, std::initializer_list<const char*> keys) {
  static const json kNone;
  for (const char* const key : keys) {
    if (const auto found = object.find(key); found != object.end()) {
      return *found;
    }
  }
  return kNone;
}

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

double number_of(const json& value) {
  return value.is_number() ? value.get<double>() : 0;
}

std::int64_t integer_of(const json& value) {
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

/// The number of a process or a thread, which may have a name instead.
std::uint64_t identity_of(const json& value) {
  return value.is_string() ? std::hash<std::string>()(value.get_ref<const std::string&>())
                           : static_cast<std::uint64_t>(integer_of(value));
}

/// The elements of a list, as far as an operator needs them; none where `value` is no list.
std::span<const json> elements_of(const json& value) {
  constexpr std::size_t kMost = 4096;
  static const json::array_t kNone;
  const auto& list = value.is_array() ? value.get_ref<const json::array_t&>() : kNone;
  return std::span<const json>(list).first(std::min(list.size(), kMost));
}

/// The integers of each list in `lists`.
std::vector<std::vector<std::int64_t>> extents_of(const json& lists) {
  std::vector<std::vector<std::int64_t>> all;
  for (const json& list : elements_of(lists)) {
    if (!list.is_structured()) {
      continue;
    }
    std::vector<std::int64_t>& extents = all.emplace_back();
    for (const json& value : elements_of(list)) {
      if (value.is_number_integer()) {
        extents.push_back(value.get<std::int64_t>());
      }
    }
  }
  return all;
}

std::vector<std::string> texts_of(const json& list) {
  std::vector<std::string> all;
  for (const json& value : elements_of(list)) {
    if (value.is_string()) {
      all.push_back(value.get<std::string>());
    }
  }
  return all;
}

/// Adds event `number` of a list of `file`.
void take_event(std::size_t number, const json& event, const std::string& file, ProfileEvents& events) {
  std::string name = text_of(member(event, {"name"}));
  if (text_of(member(event, {"ph"})) != "X") {
    return;
  }
  const std::string category = text_of(member(event, {"cat"}));
  const json& arguments = member(event, {"args"});
  const std::uint64_t process = identity_of(member(event, {"pid"}));
  constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15U;  // threads are counted by process
  const std::uint64_t thread = process * kMix + identity_of(member(event, {"tid"}));
  const double begin = number_of(member(event, {"ts"}));
  const double duration = number_of(member(event, {"dur"}));
  const std::int64_t external = integer_of(member(arguments, {"External id", "external id"}));
  const std::int64_t correlation = integer_of(member(arguments, {"correlation"}));
  // The profiler that PyTorch had before Kineto writes no categories.
  const bool operation =
      category == "cpu_op" || category == "Operator" || (category.empty() && name.starts_with("aten::"));
  if (operation) {
    TorchCall call{std::move(name), extents_of(member(arguments, {"Input Dims", "Input dims"})),
                   extents_of(member(arguments, {"Input Strides"})), texts_of(member(arguments, {"Input type"})),
                   texts_of(member(arguments, {"Concrete Inputs"}))};
    events.add_op(process, thread, begin, duration, external, call,
                  [&] { return fmt::format("{}: /traceEvents/{}", file, number); });
  } else if (category == "kernel" || category == "Kernel") {
    events.add_kernel({begin, duration, external, correlation}, name);
  } else if (category == "cuda_runtime" || category == "cuda_driver" || category == "Runtime") {
    events.add_call(process, thread, begin, correlation);
  } else if (category == "user_annotation" && name.starts_with("ProfilerStep#")) {
    events.add_step(process, {std::move(name), begin, begin + std::max(duration, 0.0)});
  }
}

/// An input of a node that is no tensor: "[1, 1]" is "[1,1]", and what is no integer or word "?".
std::string value_text(const json& value) {
  if (value.is_array()) {
    std::string list = "[";
    for (const json& element : elements_of(value)) {
      list += element.is_structured() ? "" : (list == "[" ? "" : ",") + value_text(element);
    }
    return list + "]";
  }
  const bool said = value.is_number_integer() || value.is_boolean() || value.is_null();
  return said ? value.dump() : "?";
}

/// A node has "inputs", "input_shapes" and "input_types" (schema 1.0), or "inputs": {"values",
/// "shapes", "types", "strides"} (1.1).
TorchCall call_of_node(const json& node, std::string name) {
  const json& inputs = member(node, {"inputs"});
  const json& of = inputs.is_object() ? inputs : node;
  TorchCall call{std::move(name),
                 extents_of(member(of, {"shapes", "input_shapes"})),
                 extents_of(member(of, {"strides", "input_strides"})),
                 texts_of(member(of, {"types", "input_types"})),
                 {}};
  for (const json& value : elements_of(member(of, {"values", "inputs"}))) {
    call.values.push_back(value_text(value));
  }
  return call;
}

/// A profile, also as a bare array of events.
bool is_profile(const Head& head) {
  const std::size_t first = head.text.find_first_not_of(" \t\r\n");
  const bool bare =
      first != std::string_view::npos && head.text[first] == '[' && head.text.find("\"ph\"") != std::string_view::npos;
  return bare || head.has("traceEvents") || head.has("deviceProperties") || head.has("schemaVersion");
}

void read_profile(input::InputStream& input, const ImportOptions& options, Recording& recording) {
  ProfileEvents events;
  recording.account.add_note(input::read_elements(input.stream(), input.name(), {"", "traceEvents", "deviceProperties"},
                                                  [&](std::string_view list, std::size_t number, const json& element) {
                                                    if (list != "deviceProperties") {
                                                      take_event(number, element, input.name(), events);
                                                    } else if (member(element, {"name"}).is_string()) {
                                                      events.add_gpu(text_of(member(element, {"name"})));
                                                    }
                                                  }));
  take_profile(events, input.name(),
               "a kernel without operation, as graph replay leaves them: no shapes; record without CUDA graphs",
               options.tf32, recording);
}

void read_execution_trace(input::InputStream& input, const ImportOptions& options, Recording& recording) {
  LaunchList launches;
  recording.account.add_note(input::read_elements(
      input.stream(), input.name(), {"nodes"}, [&](std::string_view /*list*/, std::size_t number, const json& node) {
        std::string name = text_of(member(node, {"name"}));
        if (!is_leaf_gemm(name)) {
          return;
        }
        const TorchCall call = call_of_node(node, std::move(name));
        const std::string place = fmt::format("{}: /nodes/{}", input.name(), number);
        for (RecordedLaunch& launch : launches_of(call, place)) {
          apply_no_kernel(call, options.tf32, launch);
          launches.add(std::move(launch), place);
        }
      }));
  std::move(launches).move_to(recording, input.name());
  recording.account.add_notes(grounds_of(recording.workload.operations));
}

}  // namespace

const Reader kKineto{"PyTorch profile", is_profile, read_profile};
const Reader kExecutionTrace{"PyTorch execution trace",
                             [](const Head& head) { return head.has("schema") && head.has("nodes"); },
                             read_execution_trace};

}  // namespace sptc::workload::profile
