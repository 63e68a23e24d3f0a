// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/point.h"

#include "models/base/text.h"

#include <cmath>
#include <cstring>
#include <exception>
#include <new>
#include <type_traits>

namespace sptc::sweep {
namespace {

template <typename T>
void append_value(std::string& bytes, const T& value) {
  static_assert(std::is_arithmetic_v<T>);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void append_text(std::string& bytes, std::string_view text) {
  append_value(bytes, text.size());
  bytes += text;
}

void append_figures(std::string& bytes, const PointFigures& figures) {
  append_text(bytes, figures.names());
  append_text(bytes, figures.bytes());
}

template <typename T>
T take_value(std::string_view& bytes) {
  base::ensure(bytes.size() >= sizeof(T), "half a figure");
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return value;
}

std::string_view take_text(std::string_view& bytes) {
  const auto size = take_value<std::size_t>(bytes);
  base::ensure(bytes.size() >= size, "half a word");
  const std::string_view text = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return text;
}

PointFigures take_figures(std::string_view& bytes) {
  std::string names(take_text(bytes));
  return {std::move(names), std::string(take_text(bytes))};
}

}  // namespace

void PointFigures::add(std::initializer_list<std::string_view> parts, const Value& value) {
  const double* const real = std::get_if<double>(&value);
  if (real != nullptr && !std::isfinite(*real)) {
    return;
  }
  std::string_view between;
  for (const std::string_view part : parts) {
    if (!part.empty()) {
      names_ += between;
      names_ += part;
      between = "_";
    }
  }
  names_ += '\n';
  bytes_ += static_cast<char>(value.index());
  if (const auto* const text = std::get_if<std::string_view>(&value)) {
    append_text(bytes_, *text);
  } else if (real != nullptr) {
    append_value(bytes_, *real);
  } else {
    append_value(bytes_, std::get<std::int64_t>(value));
  }
}

PointFigures::Value PointFigures::take(std::string_view& bytes) {
  switch (take_value<char>(bytes)) {
    case 0:
      return take_value<std::int64_t>(bytes);
    case 1:
      return take_value<double>(bytes);
    default:
      return take_text(bytes);
  }
}

PointOutcome failure(std::uint64_t position, const std::string& reason) {
  PointOutcome outcome;
  outcome.position = position;
  outcome.failed = true;
  outcome.reason = base::bounded_message(reason);
  return outcome;
}

void append_bytes(const PointOutcome& outcome, std::string& bytes) {
  append_value(bytes, outcome.position);
  append_value(bytes, std::uint64_t{outcome.failed});
  append_value(bytes, std::uint64_t{outcome.operations.size()});
  for (const std::string* text : {&outcome.reason, &outcome.notes, &outcome.hash}) {
    append_text(bytes, *text);
  }
  append_figures(bytes, outcome.totals);
  for (const PointFigures& operation : outcome.operations) {
    append_figures(bytes, operation);
  }
}

std::optional<PointOutcome> take_outcome(std::string_view& bytes) {
  try {
    PointOutcome outcome;
    outcome.position = take_value<std::uint64_t>(bytes);
    outcome.failed = take_value<std::uint64_t>(bytes) != 0;
    const auto operations = take_value<std::uint64_t>(bytes);
    for (std::string* text : {&outcome.reason, &outcome.notes, &outcome.hash}) {
      *text = take_text(bytes);
    }
    outcome.totals = take_figures(bytes);
    for (std::uint64_t i = 0; i < operations; ++i) {
      outcome.operations.push_back(take_figures(bytes));
    }
    return outcome;
  } catch (const base::InternalError&) {
    return std::nullopt;
  }
}

PointOutcome run_point(const SweepPlan& plan, PointRunner& runner, std::uint64_t position) {
  try {
    const SweepPoint point = plan.point(position);
    PointOutcome outcome = runner.run(plan, point);
    outcome.position = position;
    outcome.hash = plan.hash(point);
    return outcome;
  } catch (const base::InputError& error) {
    return failure(position, error.what());
  } catch (const std::bad_alloc&) {
    return failure(position, "not enough memory");
  } catch (const std::exception& error) {
    return failure(position, fmt::format("internal error: {}", error.what()));
  }
}

}  // namespace sptc::sweep
