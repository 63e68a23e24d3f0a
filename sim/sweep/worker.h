// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/sweep/executor.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sptc::sweep {

/// An outcome as bytes, behind those that are there, and back. Nothing where `bytes` do not begin
/// with a whole one; `used` is how many they were.
void append_bytes(const PointOutcome& outcome, std::string& bytes);
std::optional<PointOutcome> from_bytes(std::string_view bytes, std::size_t& used);

/// Simulates one point and turns whatever goes wrong into a failed outcome: in a process of its own
/// where the simulation needs one or limits have to be kept, so that a crash, a timeout or a lack
/// of memory costs this point alone. `while_waiting` is called now and then.
PointOutcome run_point(const SweepPlan& plan, PointRunner& runner, std::uint64_t position,
                       const PointLimits& limits, const std::function<void()>& while_waiting = {});

/// run_point() for one after the other. `send` gets their outcomes as bytes, several at a time
/// where they take no time; false ends it. Returns false where `send` did.
bool run_points(const SweepPlan& plan, PointRunner& runner,
                std::span<const std::uint64_t> positions, const PointLimits& limits,
                const std::function<bool(std::string_view outcomes)>& send,
                const std::function<void()>& while_waiting = {});

/// Writes all of `bytes` to a pipe; false where the other end is closed.
bool write_all(int descriptor, std::string_view bytes);

}  // namespace sptc::sweep
