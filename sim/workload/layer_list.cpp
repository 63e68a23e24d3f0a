// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/layer_list.h"

#include "models/base/error.h"
#include "models/base/text.h"
#include "sim/io/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

namespace sptc::workload {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 20;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (const auto part : std::views::split(text, separator)) {
    parts.emplace_back(part.begin(), part.end());
  }
  return parts;
}

void require_one_field(const std::string& name) {
  const bool fits = !name.empty() && name.front() != '#' &&
                    name.find_first_of("\t\n\r") == std::string::npos &&
                    name.find_first_not_of(' ') != std::string::npos;
  if (!fits) {
    throw base::InputError(
        fmt::format("'{}' cannot stand in a list of layers: a name there is not blank, has no tab "
                    "and no end of line, and does not begin with '#'",
                    io::printable(name)));
  }
}

/// Which launches of an operation are listed; `all` of them, or some.
struct Launches {
  bool all = false;
  std::set<std::int64_t> some;
};

/// The operations of a workload by name, and what a list says of them.
class ListedOperations {
 public:
  ListedOperations(std::string file, const std::vector<Operation>& operations)
      : file_(std::move(file)), operations_(operations), launches_(operations.size()) {
    for (std::size_t i = 0; i < operations.size(); ++i) {
      places_[operations[i].name].push_back(i);
      names_.push_back(operations[i].name);
    }
  }

  void add(const ListedLayer& layer) {
    if (!layer.operations.empty()) {
      for (const std::string& name : layer.operations) {
        add(layer, name);
      }
      return;
    }
    add(layer, places_.contains(layer.tensor) ? layer.tensor : std::string(layer_of(layer.tensor)));
  }

  const Launches& of(std::size_t operation) const { return launches_[operation]; }

 private:
  [[noreturn]] void fail(const ListedLayer& layer, const std::string& what) const {
    throw base::InputError(fmt::format("{}:{}: {}", file_, layer.line, what));
  }

  void add(const ListedLayer& layer, const std::string& name) {
    if (const auto found = places_.find(name); found != places_.end()) {
      for (const std::size_t i : found->second) {
        require_prunable(layer, operations_[i]);
        launches_[i].all = true;
      }
      return;
    }
    const std::size_t bracket = name.rfind('[');
    const auto found = places_.find(name.substr(0, bracket));
    if (bracket == std::string::npos || found == places_.end()) {
      fail(layer, "unknown operation " + base::unknown_name(io::printable(name), names_));
    }
    const std::size_t i = found->second.front();
    require_prunable(layer, operations_[i]);
    launches_[i].some.insert(launch(layer, name, bracket, operations_[i].count));
  }

  std::int64_t launch(const ListedLayer& layer, const std::string& name, std::size_t bracket,
                      std::int64_t count) const {
    std::int64_t index = -1;
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + bracket + 1, end, index);
    if (error != std::errc() || std::string_view(stop, end) != "]" || index < 0 || index >= count) {
      fail(layer,
           fmt::format("'{}' is no launch of '{}', which has [0] to [{}]", io::printable(name),
                       io::printable(name.substr(0, bracket)), count - 1));
    }
    return index;
  }

  void require_prunable(const ListedLayer& layer, const Operation& op) const {
    if (!op.prunable) {
      fail(layer, fmt::format("operation '{}' stays dense: {}", io::printable(op.name),
                              op.weight ? "the extents of its weight do not allow 2:4"
                                        : "both operands are activations"));
    }
  }

  std::string file_;
  const std::vector<Operation>& operations_;
  std::vector<Launches> launches_;
  std::map<std::string, std::vector<std::size_t>> places_;
  std::vector<std::string_view> names_;
};

}  // namespace

std::string_view layer_of(std::string_view tensor) {
  constexpr std::string_view kSuffix = ".weight";
  return tensor.ends_with(kSuffix) ? tensor.substr(0, tensor.size() - kSuffix.size()) : tensor;
}

std::vector<ListedLayer> read_layer_list(const std::filesystem::path& file) {
  const std::string shown = io::printable(file.string());
  std::vector<ListedLayer> layers;
  std::map<std::string, std::size_t> lines;
  std::size_t line = 0;
  for (std::string& text : split(io::read_text_file(file, kMaxBytes), '\n')) {
    ++line;
    if (text.ends_with('\r')) {
      text.pop_back();
    }
    if (text.find_first_not_of(" \t") == std::string::npos || text.front() == '#') {
      continue;
    }
    std::vector<std::string> fields = split(text, '\t');
    if (std::any_of(fields.begin(), fields.end(),
                    [](const std::string& field) { return field.empty(); })) {
      throw base::InputError(fmt::format("{}:{}: a name is empty", shown, line));
    }
    const auto [known, is_new] = lines.emplace(fields.front(), line);
    if (!is_new) {
      throw base::InputError(fmt::format("{}:{}: '{}' stands on line {}, too", shown, line,
                                         io::printable(fields.front()), known->second));
    }
    layers.push_back({fields.front(), {fields.begin() + 1, fields.end()}, line});
  }
  if (layers.empty()) {
    throw base::InputError(shown + ": no layer is listed; a line names one tensor");
  }
  return layers;
}

std::string layer_list_text(std::span<const ListedLayer> layers, std::string_view remarks) {
  std::string text;
  for (const std::string& remark : split(remarks, '\n')) {
    text += remark.empty() ? "" : "# " + remark + "\n";
  }
  for (const ListedLayer& layer : layers) {
    require_one_field(layer.tensor);
    text += layer.tensor;
    for (const std::string& operation : layer.operations) {
      require_one_field(operation);
      text += "\t" + operation;
    }
    text += "\n";
  }
  return text;
}

void prune_only_listed(std::span<const ListedLayer> layers, const std::filesystem::path& file,
                       std::vector<Operation>& operations, std::vector<VectorOperation>& vectors) {
  ListedOperations listed(io::printable(file.string()), operations);
  for (const ListedLayer& layer : layers) {
    listed.add(layer);
  }
  std::vector<Operation> result;
  std::vector<std::size_t> place(operations.size() + 1);  // of operation i in the result
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Launches& launches = listed.of(i);
    const std::int64_t count = operations[i].count;
    const auto sparse = launches.all ? count : static_cast<std::int64_t>(launches.some.size());
    Operation op = operations[i];
    op.prunable = sparse > 0;
    op.count = sparse > 0 ? sparse : count;
    result.push_back(op);
    if (op.count < count) {
      op.prunable = false;
      op.count = count - op.count;
      result.push_back(std::move(op));
    }
    place[i + 1] = result.size();
  }
  for (VectorOperation& op : vectors) {
    op.after = place[op.after];
  }
  operations = std::move(result);
}

}  // namespace sptc::workload
