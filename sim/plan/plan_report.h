// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/plan/plan_model.h"

#include <string>

namespace sptc::plan {

/// One sentence: what the plan gains and loses, or what all layers that gain do where none was
/// asked for.
std::string plan_verdict(const PlanResult& result);

/// The verdict, the layers, some points of the front, and the plan.
std::string plan_text(const PlanResult& result);

/// One JSON object (schema "sptcsim-plan/0.1", configs/schema/plan.schema.json).
std::string plan_json(const PlanResult& result);

/// A row for each layer.
std::string plan_csv(const PlanResult& result);

/// One page, which needs no network. `command`: as it was typed.
std::string plan_page(const PlanResult& result, const std::string& command);

}  // namespace sptc::plan
