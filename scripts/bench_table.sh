#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the benchmark of the batched engine and prints its speed table: rates against Eigen's sgemm in one process.
#
#   scripts/bench_table.sh [BUILD_DIR]    # default build/bench (preset bench)
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/bench}
if [[ ! -f $build/CMakeCache.txt ]]; then
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSPTC_BUILD_BENCHMARKS=ON -DSPTC_BUILD_TESTS=OFF >/dev/null
fi
cmake --build "$build" --target bench_engine >/dev/null
result=$(mktemp)
trap 'rm -f "$result"' EXIT
"$build/bench_engine" --benchmark_min_time=0.3 --benchmark_repetitions=5 --benchmark_out="$result" \
  --benchmark_out_format=json >/dev/null 2>&1
python3 - "$result" <<'PYTHON'
import json
import sys

rates = {}
for run in json.load(open(sys.argv[1]))["benchmarks"]:
    if run["run_type"] == "iteration" and "items_per_second" in run:
        name = run["run_name"].removesuffix("/process_time/real_time")
        rates[name] = max(rates.get(name, 0), run["items_per_second"])  # the best: the machine may be shared

giga = {name: rate / 1e9 for name, rate in rates.items()}
flags = max(("avx2", "native"), key=lambda f: giga["eigen_sgemm/" + f])
sgemm = giga["eigen_sgemm/" + flags]
for name in ("avx2", "native"):
    print(f"Eigen sgemm 1024^3, {'-mavx2 -mfma' if name == 'avx2' else '-march=native'}: "
          f"{giga['eigen_sgemm/' + name]:.1f} GMAC/s")
print(f"Ratios below: to Eigen at its faster flags ({flags}).\n")
TARGET = {"a100_f16_f32": 0.30, "h100_f16_f32": 0.30, "a100_bf16": 0.25, "a100_tf32": 0.20, "h100_wgmma_e4m3": 0.30}
print(f"{'1024^3, one thread':24} {'GMAC/s':>8} {'ratio':>7} {'target':>7} {'AVX2 only':>10} {'ratio':>7} {'target':>7}")
for name in sorted(n.split("/")[1] for n in giga if n.startswith("engine/")):
    best, avx2 = giga["engine/" + name], giga.get("engine_avx2/" + name, float("nan"))
    target = TARGET.get(name)
    print(f"{name:24} {best:8.1f} {best / sgemm:7.2f} {target or '':>7} {avx2:10.1f} {avx2 / sgemm:7.2f} "
          f"{f'{target / 3:.2f}' if target else '':>7}")
print()
for name in ("a100_f16_f32", "a100_tf32", "h100_f16_f32"):
    print(f"sparse, effective rate to dense, {name:14}: {2 * giga[f'engine/{name}_sparse'] / giga['engine/' + name]:.2f}"
          f"  (target 1.70)")
print(f"two threads to one, wall clock: {giga['threads/2'] / giga['threads/1']:.2f}  (target 1.90)")
print(f"all Inf and NaN, rate to the plain implementation: "
      f"{giga['engine_specials/f16'] / giga['plain/specials']:.2f}  (target 1.00)")
print(f"plain implementation: {1000 * giga['plain/normal']:.1f} MMAC/s; engine to it, f16: "
      f"{giga['engine/a100_f16_f32'] / giga['plain/normal']:.0f}")
print(f"one m16n8k16 per call of gemm: {rates['one_instruction/a100_f16_f32'] / 1e6:.2f}e6/s")
PYTHON
