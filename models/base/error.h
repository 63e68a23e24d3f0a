// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace sptc::base {

/// What a user gave us is wrong: a file, an option, a shape. The message is one clear sentence that
/// names the place, the offending value and what is allowed. The program answers with exit code 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// We are wrong: an invariant of the simulator does not hold. The program answers with exit code 3.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws InternalError with `what` unless `holds`, in release builds too.
inline void ensure(bool holds, const char* what) {
  if (!holds) {
    throw InternalError(what);
  }
}

}  // namespace sptc::base
