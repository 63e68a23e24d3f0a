#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Are the tests able to fail? Builds a copy of the tree once, then puts one deliberate fault after the other into it,
# rebuilds, and prints which checks notice. Exit 1 if a fault survives them all or no longer fits the source. The working
# tree is not touched. About a minute per fault on two cores.
#
#   -j N          compile jobs (default 2)
#   --only TEXT   only the faults whose name contains TEXT
#   --fit         build nothing; only look whether every fault still fits the source
#   --keep        leave the copy where it is
#   --help        this text
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=2 only='' fit=false keep=false
while [[ $# -gt 0 ]]; do
  case $1 in
    -j) jobs=${2:-2}; shift ;;
    --only) only=${2:-}; shift ;;
    --fit) fit=true ;;
    --keep) keep=true ;;
    -h | --help) sed -n '3,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "mutation_check.sh: unknown option '$1'; allowed: -j N, --only TEXT, --fit, --keep, --help" >&2; exit 2 ;;
  esac
  shift || break
done

work=$(mktemp -d)
$keep || trap 'rm -rf "$work"' EXIT
tree=$work/tree build=$work/build
mkdir "$tree"
(cd "$root" && git ls-files -z | tar --null -T - --ignore-failed-read -cf - 2>"$work/tar.log") | tar -C "$tree" -xf -

launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
targets=(test_golden_numerics test_stages_properties test_kernels test_timing_sm test_timing_datapath test_timing_energy sptcsim)
build_all() { cmake --build "$build" --parallel "$jobs" --target "${targets[@]}" >"$work/build.log" 2>&1; }

# One column per check. Tests that build SystemC modules need a process each, so ctest runs them.
columns=(golden property unit timing eigen exact)
run_check() {
  case $1 in
    golden) ctest --test-dir "$build/tests/golden" -R 'golden\..*Words' ;;
    property) ctest --test-dir "$build/tests/property" -R '^property\.StagesProperty' ;;
    unit) ctest --test-dir "$build/tests/unit/sim/kernels" ;;
    timing) ctest --test-dir "$build/tests/timing" --parallel "$jobs" ;;
    *) (cd "$tree" && "$build/sptcsim" run traces/digits/mlp.json --fidelity datapath --check "$1") ;;
  esac >"$work/$1.log" 2>&1
}

build_and_check_unchanged() {
  echo "building the copy in $work"
  # shellcheck disable=SC2015  # either step may fail
  cmake -S "$tree" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "${launcher[@]}" >"$work/configure.log" 2>&1 &&
    build_all || { tail -n 20 "$work"/*.log; echo "the unchanged tree does not build" >&2; exit 2; }
  for check in "${columns[@]}"; do
    run_check "$check" || { tail -n 20 "$work/$check.log"; echo "'$check' fails on the unchanged tree" >&2; exit 2; }
  done
  printf '%-34s' fault; printf ' %-9s' "${columns[@]}"; echo
}

$fit || build_and_check_unchanged
faults=0 survivors=0
# fault <name> <file> <text> <replacement>: replaces the one occurrence of the text.
fault() {
  local name=$1 file=$tree/$2 caught=0 row=''
  [[ $name == *"$only"* ]] || return 0
  faults=$((faults + 1))
  cp -p "$file" "$work/original"
  if ! python3 - "$file" "$3" "$4" <<'PYTHON'; then
import sys
path, old, new = sys.argv[1:]
text = open(path).read()
if text.count(old) != 1:
    sys.exit(1)
open(path, "w").write(text.replace(old, new))
PYTHON
    echo "$(printf '%-34s' "$name") does not fit $2 any more"
    survivors=$((survivors + 1))
    return
  fi
  if $fit; then
    cp "$work/original" "$file"
    return
  fi
  if build_all; then
    for check in "${columns[@]}"; do
      if run_check "$check"; then row+=$(printf ' %-9s' -); else row+=$(printf ' %-9s' caught); caught=1; fi
    done
  else
    row=" does not compile: $(grep -m1 error: "$work/build.log")"
  fi
  printf '%-34s%s\n' "$name" "$row"
  [[ $caught == 1 ]] || survivors=$((survivors + 1))
  cp "$work/original" "$file"  # a new time stamp, so that it is compiled again
}

stages=models/mma/stages.cpp
cut='const std::uint32_t cut = (magnitude << left) >> std::min(right, 31);'
fault 'selector index off by one' $stages \
  'selected.b_row[i][t] = static_cast<std::uint8_t>(b_row);' \
  'b_row ^= sparse ? 1 : 0; selected.b_row[i][t] = static_cast<std::uint8_t>(b_row);'
fault 'alignment rounds' $stages "$cut" \
  'const std::uint32_t cut = ((magnitude << left) + ((1U << std::min(right, 31)) >> 1)) >> std::min(right, 31);'
fault 'alignment floors' $stages "$cut" \
  'const std::uint32_t cut = ((magnitude << left) + (sign & ((1U << std::min(right, 31)) - 1))) >> std::min(right, 31);'
fault 'output rounds to nearest even' $stages \
  'context.rules.rounding == OutputRounding::kNearestEven;' 'true;'
fault 'no exponent floor' $stages \
  'context.rules.exponent_floor.value_or(std::numeric_limits<std::int32_t>::min());' \
  'std::numeric_limits<std::int32_t>::min();'
fault 'accumulator not fed back' sim/tensor_core/multiply_stage.cpp \
  'mma::decode_accumulators(context, *feedback->payload, *token.accumulator);' \
  '*token.accumulator = mma::Accumulators{};'
fault 'metadata selectors swapped' sim/kernels/warp_program.cpp \
  'row % registers_.rows_per_metadata_register()' '(row + 1) % registers_.rows_per_metadata_register()'
fault 'no write-after-read check' sim/sm/scoreboard.h \
  'return pending_reads > 0 ? kUnknown : read;' 'return 0;'
fault 'tile edge off by one' sim/kernels/packed_gemm.cpp \
  'const bool inside = row < static_cast' 'const bool inside = row + 1 < static_cast'
fault 'column of tiles computed twice' sim/kernels/gemm_kernel.cpp \
  'first_n + in_group % width' 'first_n + in_group % width / 2'
fault 'D a cycle early' sim/tensor_core/round_write_back_stage.h \
  'round_latency_ + occupied - 1 + write_back_latency_' 'round_latency_ + occupied - 2 + write_back_latency_'
fault 'metadata port never busy' sim/tensor_core/operand_fetch.cpp \
  'metadata_port_.take(cycle, instruction.metadata.bytes());' 'metadata_port_.take(cycle, 1);'

if [[ $faults -eq 0 ]]; then
  echo "mutation_check.sh: no fault has '$only' in its name" >&2
  exit 2
fi
if [[ $survivors -gt 0 ]]; then
  echo "$survivors of $faults faults survived"
  exit 1
fi
if $fit; then
  echo "Mutation check: $faults faults fit the source."
else
  echo "each of $faults faults was caught"
fi
