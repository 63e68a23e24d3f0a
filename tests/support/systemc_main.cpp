// SPDX-License-Identifier: Apache-2.0
// libsystemc owns main(); GoogleTest therefore starts in sc_main.
#include <gtest/gtest.h>
#include <systemc>

#include <cstdlib>
#include <iostream>

namespace {

// SystemC prints its banner before sc_main and looks at the environment for it.
const int kNoBanner = setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 0);

// SystemC elaborates once per process, so a second test that builds modules would fail in ways that
// tell nothing.
class OneElaborationPerProcess : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& test) override {
    if (sc_core::sc_get_status() != sc_core::SC_ELABORATION) {
      std::cerr << "SystemC was elaborated by an earlier test of this process; run " << test.test_suite_name() << "."
                << test.name() << " alone (ctest does, or --gtest_filter).\n";
      std::_Exit(EXIT_FAILURE);
    }
  }
};

}  // namespace

int sc_main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new OneElaborationPerProcess);
  return kNoBanner == 0 ? RUN_ALL_TESTS() : EXIT_FAILURE;
}
