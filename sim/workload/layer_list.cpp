// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/layer_list.h"

#include "models/base/text.h"
#include "sim/io/text_file.h"

#include <algorithm>
#include <ranges>

namespace sptc::workload {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 20;

void require_one_field(const std::string& name) {
  const bool fits = !name.empty() && name.front() != '#' && name.find_first_of("\t\n\r") == std::string::npos &&
                    name.find_first_not_of(' ') != std::string::npos;
  if (!fits) {
    io::refuse(
        "'{}' cannot stand in a list of layers: a name there is not blank, has no tab and no end of line, and does not "
        "begin with '#'",
        io::printable(name));
  }
}

/// Which launches of an operation are listed.
using Launches = std::set<std::int64_t>;
constexpr std::int64_t kAll = -1;

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
    for (const std::string& name : layer.operations) {
      add(layer, name);
    }
    if (layer.operations.empty()) {
      add(layer, std::string(places_.contains(layer.tensor) ? layer.tensor : layer_of(layer.tensor)));
    }
  }

  const Launches& of(std::size_t operation) const { return launches_[operation]; }

 private:
  void add(const ListedLayer& layer, const std::string& name) {
    if (const auto found = places_.find(name); found != places_.end()) {
      for (const std::size_t i : found->second) {
        add(layer, i, kAll);
      }
      return;
    }
    const std::size_t bracket = name.rfind('[');
    const auto found = places_.find(name.substr(0, bracket));
    if (bracket == std::string::npos || found == places_.end()) {
      io::refuse("{}:{}: unknown operation {}", file_, layer.line, base::unknown_name(io::printable(name), names_));
    }
    const std::size_t i = found->second.front();
    const std::int64_t count = operations_[i].count;
    std::int64_t index = -1;
    const std::string_view inside = std::string_view(name).substr(bracket + 1);
    if (!inside.ends_with(']') || !io::parse_whole(inside.substr(0, inside.size() - 1), index) || index < 0 ||
        index >= count) {
      io::refuse("{}:{}: '{}' is no launch of '{}', which has [0] to [{}]", file_, layer.line, io::printable(name),
                 io::printable(name.substr(0, bracket)), count - 1);
    }
    add(layer, i, index);
  }

  void add(const ListedLayer& layer, std::size_t operation, std::int64_t launch) {
    const Operation& op = operations_[operation];
    if (!op.prunable) {
      io::refuse("{}:{}: operation '{}' stays dense: {}", file_, layer.line, io::printable(op.name),
                 op.weight ? "the extents of its weight do not allow 2:4" : "both operands are activations");
    }
    launches_[operation].insert(launch);
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
  const std::string whole = io::read_text_file(file, kMaxBytes);
  for (std::string_view text : parts_of(whole, '\n')) {
    ++line;
    text.remove_suffix(text.ends_with('\r') ? 1 : 0);
    if (text.find_first_not_of(" \t") == std::string_view::npos || text.front() == '#') {
      continue;
    }
    const std::vector<std::string_view> fields = parts_of(text, '\t');
    if (std::ranges::count(fields, "") > 0) {
      io::refuse("{}:{}: a name is empty", shown, line);
    }
    const auto [known, is_new] = lines.emplace(fields.front(), line);
    if (!is_new) {
      io::refuse("{}:{}: '{}' stands on line {}, too", shown, line, io::printable(fields.front()), known->second);
    }
    layers.push_back({std::string(fields.front()), {fields.begin() + 1, fields.end()}, line});
  }
  if (layers.empty()) {
    io::refuse("{}: no layer is listed; a line names one tensor", shown);
  }
  return layers;
}

std::string layer_list_text(std::span<const ListedLayer> layers, std::string_view remarks) {
  std::string text;
  for (const std::string_view remark : parts_of(remarks, '\n')) {
    text += remark.empty() ? "" : fmt::format("# {}\n", remark);
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
    const auto sparse = launches.contains(kAll) ? count : static_cast<std::int64_t>(launches.size());
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
