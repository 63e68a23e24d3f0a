// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/error.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace sptc::support {

/// The message of the InputError that `action` throws; a test failure and "" where it throws none.
template <typename Action>
std::string input_error_of(Action action) {
  try {
    action();
  } catch (const base::InputError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no InputError was thrown";
  return "";
}

/// Expects an InputError whose message contains every one of `parts`.
template <typename Action>
void expect_input_error(Action action, std::initializer_list<std::string_view> parts) {
  const std::string message = input_error_of(action);
  for (const std::string_view part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "the message '" << message << "' lacks '" << part << "'";
  }
}

}  // namespace sptc::support
