#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Are the tests able to fail? Builds a copy of the tree once, then puts one deliberate fault after the other into it,
# rebuilds, and prints which checks notice. Exit 1 if a fault survives them all or no longer fits the source. The working
# tree is not touched.
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
suites=(test_base test_config test_energy test_extrapolation test_import test_io test_kernel_comparison test_memory test_numerics test_roofline
  test_sim_cli_plan test_sim_cli_prune test_sim_network test_sim_plan test_sim_report test_sim_run
  test_sim_sweep test_sm_occupancy test_sparsity test_validate test_vectors test_workload)
build_targets() { cmake --build "$build" --parallel "$jobs" --target "$@" >"$work/build.log" 2>&1; }

# One column per check. Tests that build SystemC modules need a process each, so ctest runs them.
columns=(golden property unit timing eigen exact)
run_check() {
  case $1 in
    golden) ctest --test-dir "$build/tests/golden" -R 'golden\.VectorsOfEveryGeneration' ;;
    property) ctest --test-dir "$build/tests/property" -R '^property\.StagesProperty' ;;
    unit) ctest --test-dir "$build/tests/unit/sim/kernels" ;;
    timing) ctest --test-dir "$build/tests/timing" --parallel "$jobs" ;;
    *) (cd "$tree" && "$build/sptcsim" run traces/digits/mlp.json --fidelity datapath --check "$1") ;;
  esac >"$work/$1.log" 2>&1
}

# The tests of one executable. One that hangs has noticed: it takes ten times as long as on the unchanged tree, and ten
# minutes more. One that cannot even list its tests has noticed, too.
declare -A usual_seconds
run_suite() {
  local executable names
  executable=$(find "$build/tests" -name "$1" -type f -perm -u+x)
  names=$("$executable" --gtest_list_tests 2>/dev/null | sed -n 's,^\([A-Za-z][A-Za-z0-9_/]*\)\..*,\1,p' | sort -u | paste -sd '|')
  timeout $((600 + 10 * ${usual_seconds[$1]:-600})) ctest --test-dir "$(dirname "$executable")" --no-tests=error \
    --parallel "$jobs" --stop-on-failure --tests-regex "^unit\\.(${names:-none})\\." >"$work/$1.log" 2>&1
}

build_and_check_unchanged() {
  echo "building the copy in $work"
  # shellcheck disable=SC2015  # either step may fail
  cmake -S "$tree" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "${launcher[@]}" >"$work/configure.log" 2>&1 &&
    build_targets "${targets[@]}" "${suites[@]}" || { tail -n 20 "$work"/*.log; echo "the unchanged tree does not build" >&2; exit 2; }
  for check in "${columns[@]}"; do
    run_check "$check" || { tail -n 20 "$work/$check.log"; echo "'$check' fails on the unchanged tree" >&2; exit 2; }
  done
  for suite in "${suites[@]}"; do
    local began=$SECONDS
    run_suite "$suite" || { tail -n 20 "$work/$suite.log"; echo "'$suite' fails on the unchanged tree" >&2; exit 2; }
    usual_seconds[$suite]=$((SECONDS - began))
  done
  printf '%-42s' fault; printf ' %-9s' "${columns[@]}"; echo
}

$fit || build_and_check_unchanged
faults=0 survivors=0
# put_fault <name> <file> <text> <replacement>: replaces the one occurrence of the text. False where there is nothing to
# build: the fault is not asked for, does not fit, or only its fit is.
put_fault() {
  local name=$1
  file=$tree/$2
  [[ $name == *"$only"* ]] || return 1
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
    echo "$(printf '%-42s' "$name") does not fit $2 any more"
    survivors=$((survivors + 1))
    return 1
  fi
  if $fit; then
    cp "$work/original" "$file"
    return 1
  fi
}

# take_back <name> <row> <caught>: prints what came of the fault.
take_back() {
  printf '%-42s%s\n' "$1" "$2"
  [[ $3 == 1 ]] || survivors=$((survivors + 1))
  cp "$work/original" "$file"  # a new time stamp, so that it is compiled again
}

# fault <name> <file> <text> <replacement>: in the data path or the scheduler; every check is asked.
fault() {
  local caught=0 row=''
  put_fault "$@" || return 0
  if build_targets "${targets[@]}"; then
    for check in "${columns[@]}"; do
      if run_check "$check"; then row+=$(printf ' %-9s' -); else row+=$(printf ' %-9s' caught); caught=1; fi
    done
  else
    row=" does not compile: $(grep -m1 error: "$work/build.log")"
  fi
  take_back "$1" "$row" "$caught"
}

# fault_of <suite> <name> <file> <text> <replacement>: elsewhere; the suite of its folder is asked.
fault_of() {
  local suite=$1 caught=0 row=''
  shift
  put_fault "$@" || return 0
  if ! build_targets "$suite"; then
    row=" does not compile: $(grep -m1 error: "$work/build.log")"
  elif run_suite "$suite"; then
    row=" survives $suite"
  else
    row=" caught by $suite"
    caught=1
  fi
  take_back "$1" "$row" "$caught"
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
fault 'accumulator not fed back' sim/hardware/tensor_core/multiply_stage.cpp \
  'mma::decode_accumulators(context, *feedback->payload, *token.accumulator);' \
  '*token.accumulator = mma::Accumulators{};'
fault 'metadata selectors swapped' sim/kernels/warp_program.cpp \
  'row % registers_.rows_per_metadata_register()' '(row + 1) % registers_.rows_per_metadata_register()'
fault 'no write-after-read check' sim/hardware/sm/scoreboard.h \
  'return pending_reads > 0 ? kUnknown : read;' 'return 0;'
fault 'tile edge off by one' sim/kernels/packed_gemm.cpp \
  'const bool inside = row < static_cast' 'const bool inside = row + 1 < static_cast'
fault 'column of tiles computed twice' sim/kernels/gemm_kernel.cpp \
  'at.first_n + at.first % at.width' 'at.first_n + at.first % at.width / 2'
fault 'D a cycle early' sim/hardware/tensor_core/round_write_back_stage.h \
  'round_latency_ + occupied - 1 + write_back_latency_' 'round_latency_ + occupied - 2 + write_back_latency_'
fault 'metadata port never busy' sim/hardware/tensor_core/operand_fetch.cpp \
  'metadata_port_.take(cycle, instruction.metadata.bytes());' 'metadata_port_.take(cycle, 1);'

fault_of test_workload 'line of a CSV record not counted' sim/io/csv.cpp \
  $'    at_ += at_crlf() ? 2 : 1;\n    ++line_;' \
  $'    at_ += at_crlf() ? 2 : 1;'
fault_of test_io 'JSON nests one level deeper' sim/io/json_reader.cpp \
  'levels_.size() >= kMaxDepth' \
  'levels_.size() > kMaxDepth'
fault_of test_io 'tensors of a file may overlap' sim/io/safetensors.cpp \
  'if (entry.offset != covered)' \
  'if (entry.offset > covered)'
fault_of test_workload 'ceil_div always rounds up' sim/workload/workload_dims.cpp \
  'a / divisor + (a % divisor > 0 ? 1 : 0)' \
  'a / divisor + 1'
fault_of test_workload 'division with a remainder' sim/workload/workload_dims.cpp \
  'if (value % divisor != 0)' \
  'if (value % divisor < 0)'
fault_of test_workload 'tensors of a workload lie anywhere' sim/workload/workload_json.cpp \
  'inside.empty() || inside == "." || *inside.begin() == ".."' \
  'inside.empty() || inside == "."'
fault_of test_sparsity 'metadata reordered by the wrong row' models/sparsity/metadata.cpp \
  'return block + x % 8 * 4 + column % 2 * 2 + x / 8;' \
  'return block + x % 8 * 4 + column % 2 * 2 + (x / 8 ^ 1);'
fault_of test_sparsity 'three of four kept' models/sparsity/compress.cpp \
  '(runs) > pattern.choices())' \
  '(runs) > pattern.choices() + 1)'
fault_of test_sparsity 'metadata may name one place twice' models/sparsity/compress.cpp \
  'pattern.choices() == 2 && (nibble & 3) != nibble >> 2' \
  'pattern.choices() == 2'
fault_of test_sparsity 'metadata from the wrong lane' models/sparsity/metadata_register.cpp \
  '.lane = first_lane + upper_row + 2 * (place.group >> 3)' \
  '.lane = first_lane + (upper_row ^ 1) + 2 * (place.group >> 3)'
fault_of test_sparsity 'kept energy is that of all' models/sparsity/criterion.cpp \
  'all_energy > 0 ? all_kept_energy / all_energy : 1' \
  'all_energy > 0 ? all_energy / all_energy : 1'
fault_of test_numerics 'saturation above the largest' models/numerics/codec.cpp \
  'if (magnitude >= largest)' \
  'if (magnitude > 2 * largest)'
fault_of test_numerics 'sign lost in decoding' models/numerics/codec.cpp \
  '(format.mantissa_bits + format.exponent_bits)) & 1) != 0' \
  '(format.mantissa_bits + format.exponent_bits)) & 1) > 1'
fault_of test_base 'random numbers of half the range' models/base/random.h \
  '((bits(index) >> 32) * bound) >> 32' \
  '((bits(index) >> 32) * bound) >> 33'
fault_of test_roofline 'bytes of D forgotten' models/roofline/fitted_roofline.cpp \
  'm * k * bytes.a + n * k * bytes.b + m * n * bytes.d' \
  'm * k * bytes.a + n * k * bytes.b'
fault_of test_memory 'requests in the wrong order of ports' sim/hardware/memory/memory_port.cpp \
  'return a.port < b.port;' \
  'return a.port > b.port;'
fault_of test_vectors 'contested bits from the wrong end' sim/check/vectors/vector_set.cpp \
  '>> (bit % 8)) & 1) != 0' \
  '>> (7 - bit % 8)) & 1) != 0'
fault_of test_vectors 'index behind the last row of B' sim/check/vectors/mma_batch.cpp \
  'return index >= k;' \
  'return index > k;'
fault_of test_validate 'median at a quarter of the weight' sim/check/times/accuracy.cpp \
  'const double half = rest / 2;' \
  'const double half = rest * 3 / 4;'
fault_of test_sim_sweep 'axes of a sweep advance together' sim/sweep/plan.cpp \
  'return position / stride_[dimension] %' \
  'return position %'
fault_of test_sim_sweep 'merged rows out of order' sim/sweep/merge.cpp \
  'part.points->position() < chosen->points->position()' \
  'part.points->position() > chosen->points->position()'
fault_of test_sim_sweep 'a condition reads whatever it likes' sim/sweep/condition.cpp \
  'sqlite3_set_authorizer(database, authorize, &selects);' \
  'sqlite3_set_authorizer(database, true ? nullptr : authorize, &selects);'
fault_of test_sim_network 'causal mask leaves everything' sim/run/network/attention.cpp \
  'keys - (queries - of_block) / 2 + rounding' \
  'keys - (queries - of_block) * 0 + rounding'
fault_of test_sim_network 'vector operations one GEMM late' sim/run/network/kernel_plan.cpp \
  'network_.vectors[vector_].after <= gemm_' \
  'network_.vectors[vector_].after < gemm_'
fault 'a port forgets what it did' sim/base/throughput.h \
  'next_free_ = std::max(next_free_, cycle * rate_) + items * kScale;' \
  'next_free_ = cycle * rate_ + items * kScale;'
fault 'a port free a cycle early' sim/base/throughput.h \
  'return (next_free_ + rate_ - 1) / rate_;' \
  'return next_free_ / rate_;'
fault_of test_sim_report 'names of others end the data of a page' sim/report/html_page.cpp \
  'kEscaped = "\\u003c"' \
  'kEscaped = "<"'
fault_of test_config 'base beside the wrong file' sim/config/derivation.cpp \
  '(std::filesystem::path(file).parent_path() / base)' \
  '(std::filesystem::path(file) / base)'
fault_of test_energy 'volts not interpolated' models/energy/power.cpp \
  'low.volts + (high.volts - low.volts) * (mhz - low.mhz) / (high.mhz - low.mhz)' \
  'low.volts'
fault_of test_energy 'leakage of one SM for all' models/energy/power.cpp \
  'spec.static_power.constant_w + sms * spec.static_power.leakage_per_sm_w' \
  'spec.static_power.constant_w + (sms > 0 ? spec.static_power.leakage_per_sm_w : 0)'
fault_of test_energy 'a dense core has a selector' models/energy/area.cpp \
  'if (shape.selector_inputs > shape.kept)' \
  'if (shape.selector_inputs >= shape.kept)'
fault_of test_energy 'partial products of the wrong factor' models/energy/switching.cpp \
  'popcount(a0 & ~a1) * popcount(b0)' \
  'popcount(a0 & ~a1) * popcount(b1)'
fault_of test_sm_occupancy 'shared memory that is just full' sim/hardware/sm/occupancy.cpp \
  'if (size.count() >= used.count())' \
  'if (size.count() > used.count())'
fault_of test_extrapolation 'rounds are carried on before SMs are apart' sim/gpu/extrapolation.cpp \
  'kRoundsOfDrift = 4;' \
  'kRoundsOfDrift = 2;'
fault_of test_sim_cli_prune 'nearest m by the multiple of k' sim/prune/legality.cpp \
  'result.nearest.m = base::round_up(shape.m, rule.m);' \
  'result.nearest.m = base::round_up(shape.m, rule.k);'
fault_of test_sim_cli_prune 'weights of [k, rows] keep their extents' sim/prune/checkpoint_layer.cpp \
  'form.k_first ? std::vector{form.k, form.rows}' \
  'form.k_first ? std::vector{form.rows, form.k}'
fault_of test_sim_prune 'a shard of another source stays' sim/prune/model_directory.cpp \
  'found->second.source == stamp_of(source_.directory() / shard) &&' \
  ''
fault_of test_sim_cli_prune 'layers that are left out are pruned' sim/prune/layer_choice.cpp \
  'if (unwanted_.has(entry.name) || !(wanted_.given() ? asked : usual)) {' \
  'if (!(wanted_.given() ? asked : usual)) {'
fault_of test_sim_plan 'of sets of one loss the lesser gain first' sim/prune/plan/pareto_front.cpp \
  'one.loss < other.loss : one.gain > other.gain' \
  'one.loss < other.loss : one.gain < other.gain'
fault_of test_sim_plan 'resolution of the last thinning alone' sim/prune/plan/pareto_front.cpp \
  'resolution += step;' \
  'resolution = step;'
fault_of test_sim_cli_plan 'weights of one kernel stay apart' sim/prune/plan/planned_layers.cpp \
  'unions.join(i, by_kernel.emplace(launch, i).first->second);' \
  ''
fault_of test_kernel_comparison 'two zeros are one number' sim/check/kernel/error_bounds.cpp \
  '-magnitude - 1 : magnitude' \
  '-magnitude : magnitude'
fault_of test_kernel_comparison 'alpha becomes beta' sim/check/kernel/hypotheses/epilogues.cpp \
  'std::swap(e.alpha, e.beta);' \
  'e.alpha = e.beta;'
fault_of test_kernel_comparison 'metadata moves as B does' sim/check/kernel/kernel_operands.cpp \
  'units_of(operands.nibbles, map, &KPart::a, 1' \
  'units_of(operands.nibbles, map, &KPart::b, 1'
fault_of test_sim_run 'signals to the group of processes end workers' sim/run/worker_pool.cpp \
  '::sigaction(signal, &action, nullptr);' \
  '::sigaction(SIGALRM, &action, nullptr);'
fault_of test_sim_report 'the slowest layer gains most' sim/report/verdict.cpp \
  '*speedup > *most->speedup()' \
  '*speedup < *most->speedup()'
fault_of test_sim_report 'power of one launch of many' sim/report/network_sums.cpp \
  'variant->timing.time_us * static_cast<double>(op.count)' \
  'variant->timing.time_us'
fault_of test_sim_report 'launches lose what one does' sim/report/network_sums.cpp \
  'add(kLaunches, count * (' \
  'add(kLaunches, ('
fault_of test_import 'M of SCALE-Sim is m' sim/workload/topology/scale_sim.cpp \
  '{row.integer("N"), row.integer("M"), row.integer("K")}' \
  '{row.integer("M"), row.integer("N"), row.integer("K")}'
fault_of test_import 'types of two letters unknown in pairs' sim/workload/profile/torch_call.cpp \
  'std::size_t at = 2; at + 2 <= word.size()' \
  'std::size_t at = 3; at + 2 <= word.size()'
fault_of test_workload 'tokens left over go to the wrong expert' sim/workload/expert_shares.cpp \
  'static_cast<double>(result.back()) - exact, i' \
  'exact - static_cast<double>(result.back()), i'
fault_of test_workload 'special functions beside other instructions' sim/workload/vector_operation.cpp \
  'std::max(instructions, kSlotsOfSpecial * special)' \
  'instructions + kSlotsOfSpecial * special'

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
