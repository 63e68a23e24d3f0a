// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sptc::hardware {

/// One kernel of the bit capture, as cuda/mma_operations.inc and wgmma_operations.inc list them.
struct KernelRow {
  std::string id;   ///< of the struct that names the kernel
  std::string ptx;  ///< MmaInstruction::ptx_name()
  bool is_wgmma = false;
  int d = 0, a = 0, b = 0, c = 0;  ///< registers of a lane; wgmma: b is bytes of a column of B
  int register_bits = 32;
  int selectors = 0;        ///< 0: dense
  int first = 0, last = 0;  ///< __CUDA_ARCH__ that has it
};
const std::vector<KernelRow>& kernel_rows();

/// PTX names of the mma and mma.sp instructions that are timed (cuda/mma_bench_operations.inc).
std::vector<std::string> timed_mma();

/// "id<TAB>kernels<TAB>mnemonic<TAB>count" for every kernel of `target` whose SASS is published:
/// `kernels` instances (selectors), each with `count` matrix instructions called `mnemonic`. Throws
/// InputError for an unknown target.
std::string expected_sass(const std::string& target);

}  // namespace sptc::hardware
