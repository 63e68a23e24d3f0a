// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/point/point_figures.h"

#include "models/base/error.h"

#include <cmath>
#include <cstring>

namespace sptc::sweep::point {
namespace {

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <typename T>
T take_raw(std::string_view& bytes) {
  base::ensure(bytes.size() >= sizeof(T), "half a figure");
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return value;
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
    append(bytes_, text->size());
    bytes_ += *text;
  } else if (real != nullptr) {
    append(bytes_, *real);
  } else {
    append(bytes_, std::get<std::int64_t>(value));
  }
}

PointFigures::Value PointFigures::take(std::string_view& bytes) {
  switch (take_raw<char>(bytes)) {
    case 0:
      return take_raw<std::int64_t>(bytes);
    case 1:
      return take_raw<double>(bytes);
    default: {
      const auto size = take_raw<std::size_t>(bytes);
      base::ensure(bytes.size() >= size, "half a word");
      const std::string_view text = bytes.substr(0, size);
      bytes.remove_prefix(size);
      return text;
    }
  }
}

}  // namespace sptc::sweep::point
