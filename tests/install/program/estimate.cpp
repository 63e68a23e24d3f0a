// SPDX-License-Identifier: Apache-2.0
// Where 2:4 pays on an A100, and on one with twice the memory bandwidth; no SystemC.
#include <cstdio>
#include <sptcsim/estimate.h>

int main() {
  using namespace sptcsim;
  const Architecture a100("a100-sxm4-80gb");
  const std::string bandwidth = "/memory/dram_gb_per_s";
  const Architecture doubled = a100.with({{bandwidth, 2 * a100.number(bandwidth)}});
  const Workload layers({{.name = "attention", .m = 4096, .n = 512, .k = 4096},
                         {.name = "feed-forward", .m = 16384, .n = 4096, .k = 4096}});
  double last = 0;
  for (const Architecture& gpu : {a100, doubled}) {
    for (const GemmResult& gemm : estimate(layers, gpu, {{"clock", "limited"}}).gemms) {
      std::printf("%-13s %8.1f us dense (%s), %8.1f us 2:4, gain %.2f, %.0f W\n", gemm.gemm.name.c_str(),
                  gemm.dense->time_us, gemm.dense->bound_by.c_str(), gemm.sparse->time_us, *gemm.speedup(),
                  *gemm.sparse->power_w);
      last = *gemm.speedup();
    }
  }
  try {
    Architecture("a100-sxm4-80gbb");
  } catch (const InputError& error) {
    std::printf("refused: %s\n", error.what());
    return last > 1 && last < 2.5 ? 0 : 1;
  }
  return 1;
}
