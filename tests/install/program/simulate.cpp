// SPDX-License-Identifier: Apache-2.0
// One GEMM simulated twice in one program: all values through the stages, and time alone.
#include <cstdio>
#include <sptcsim/simulate.h>

int main() {
  using namespace sptcsim;
  const Architecture a100("a100-sxm4-80gb");
  const Workload small({{.m = 64, .n = 64, .k = 128}});
  int calls = 0;
  Hooks hooks;
  hooks.progress = [&](std::size_t, std::size_t, const std::string&) { ++calls; };
  const Result bits = simulate(small, a100, {{"fidelity", "datapath"}, {"check", "exact"}}, hooks);
  const Launch& dense = bits.gemms.at(0).dense.value();
  std::printf("datapath: %lld cycles, %lld mismatches\n", static_cast<long long>(dense.cycles),
              static_cast<long long>(dense.mismatches));
  const Result time = simulate(Workload({{.m = 4096, .n = 4096, .k = 4096}}), a100);
  std::printf("timing: gain %.2f, %zu bytes of JSON\n", time.gemms.at(0).speedup().value(), time.json.size());
  try {
    simulate(small, a100, {{"fidelty", "timing"}});
  } catch (const InputError& error) {
    std::printf("refused: %s\n", error.what());
    return dense.mismatches == 0 && calls > 0 ? 0 : 1;
  }
  return 1;
}
