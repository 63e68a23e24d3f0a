// SPDX-License-Identifier: Apache-2.0
//
// hardware_capture: measures the GPU of this machine.
#include "tests/hardware/capture/program.h"

int main(int argc, char** argv) {
  return sptc::hardware::run_program(argc, argv, sptc::hardware::open_gpu);
}
