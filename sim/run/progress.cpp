// SPDX-License-Identifier: Apache-2.0
#include "sim/run/progress.h"

#include <nlohmann/json.hpp>

#include <utility>

namespace sptc::run {

ProgressCallback sent_progress(std::function<void(std::string_view part)> send) {
  return [send = std::move(send)](std::size_t done, std::size_t total, const std::string& next) {
    std::string bytes;
    nlohmann::json::to_cbor({done, total, next}, bytes);  // strings of any bytes
    send(bytes);
  };
}

std::function<void(std::string_view part)> received_progress(const ProgressCallback& progress) {
  if (!progress) {
    return {};
  }
  return [&progress](std::string_view part) {
    const auto step = nlohmann::json::from_cbor(part);
    progress(step.at(0).get<std::size_t>(), step.at(1).get<std::size_t>(),
             step.at(2).get<std::string>());
  };
}

}  // namespace sptc::run
