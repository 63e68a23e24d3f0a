#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The checks that CI has no time for, each with a time limit, and a table of what came of them. Exit 1 if one failed.
#
#   asan      all tests under AddressSanitizer and UndefinedBehaviorSanitizer
#   tsan      the batched engine, worker processes, sweeps and the Python package under ThreadSanitizer
#   tidy      clang-tidy over the sources of models and sim; it compiles nothing
#   clang     all tests as clang builds them, the digests of outputs included
#   valgrind  outputs of the data path under memcheck, the same bytes as without it
#
#   --only STEP      this step; may be repeated
#   --tests REGEX    of asan, tsan and clang: tests whose names it finds; of valgrind: lines of outputs.txt; of tidy: paths
#   --target NAME    of asan, tsan and clang: builds this target instead of everything; may be repeated
#   --minutes N      limit of each step (default 90)
#   -j N             compile and test jobs (default: all processors)
#   --help           this text
set -uo pipefail

script=$(realpath "${BASH_SOURCE[0]}")
root=$(cd "$(dirname "$script")/.." && pwd)
steps=() tests='' targets=() minutes=90 jobs=$(nproc) run=''
all=(asan tsan tidy clang valgrind)
while [[ $# -gt 0 ]]; do
  case $1 in
    --only) steps+=("${2:-}"); shift ;;
    --tests) tests=${2:-}; shift ;;
    --target) targets+=("${2:-}"); shift ;;
    --minutes) minutes=${2:-}; shift ;;
    -j) jobs=${2:-}; shift ;;
    --run) run=${2:-}; shift ;;  # one step, without limit and table: how this script calls itself
    -h | --help) sed -n '3,16s/^# \{0,1\}//p' "$script"; exit 0 ;;
    *) echo "check_deep.sh: unknown option '$1'; allowed: --only STEP, --tests REGEX, --target NAME, --minutes N, -j N, --help" >&2
       exit 2 ;;
  esac
  shift || break
done
if ! [[ $minutes =~ ^[1-9][0-9]*$ && $jobs =~ ^[1-9][0-9]*$ ]]; then
  echo "check_deep.sh: --minutes and -j take positive numbers, not '$minutes' and '$jobs'" >&2
  exit 2
fi
for step in "${steps[@]}"; do
  if [[ " ${all[*]} " != *" $step "* ]]; then
    echo "check_deep.sh: there is no step '$step'; allowed: ${all[*]}" >&2
    exit 2
  fi
done
cd "$root" || exit 1

# build <preset> [cmake option ...]
build() {
  # Of a sanitizer build little is found in a cache; what it has instead are precompiled headers.
  local launcher=()
  if [[ $1 != *san ]] && command -v ccache >/dev/null; then
    launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  cmake --preset "$1" "${launcher[@]}" "${@:2}" &&
    cmake --build --preset "$1" --parallel "$jobs" ${targets[@]:+--target "${targets[@]}"} -- -k 0
}

# test_preset <preset> <regular expression>
test_preset() {
  ctest --preset "$1" --parallel "$jobs" ${2:+--tests-regex "$2"}
}

# What starts threads or worker processes: executables of tests, and the names of these tests.
threaded=(sptcsim test_api_estimate test_api_simulate test_energy test_engine test_engine_properties test_io
  test_kernel_comparison test_sim_cli_sweep test_sim_run test_sim_sweep)
threaded_tests='^(unit|property)\.(Targets/)?(Api(Estimate|Simulate)|EngineTarget|FileUse|ForEachInWorkers'
threaded_tests+='|GemmTest|PlantedFaults|ReferenceToggles|Resimulation|Simulator|SparseGemm|Sweep|WorkerPool|WorkerProgress)'

# ThreadSanitizer must be there before the interpreter that imports the package.
tsan_python() {
  local python=$root/build/python-environment/bin/python
  [[ -x $python ]] && echo "-DPython_EXECUTABLE=$python"
}

run_step() {
  case $1 in
    asan) build asan && test_preset asan "$tests" ;;
    tsan)
      local python
      python=$(tsan_python)
      [[ ${#targets[@]} -gt 0 ]] || targets=("${threaded[@]}" ${python:+sptcsim_python fixed_dram})
      build tsan ${python:+"$python"} || return
      # Workers are copies of a process that may have threads, and they may start some of their own.
      export TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 die_after_fork=0"
      test_preset tsan "${tests:-$threaded_tests}" || return
      if [[ -n $python && -z $tests ]]; then
        LD_PRELOAD=$(g++ -print-file-name=libtsan.so) test_preset tsan '^python\.(simulation|sweep|arrays)'
      fi
      ;;
    tidy) cmake --preset clang && run-clang-tidy -quiet -j "$jobs" -p build/clang "${tests:-$root/(models|sim)/}" ;;
    clang) build clang && test_preset clang "$tests" ;;
    valgrind)
      command -v valgrind >/dev/null || { echo "valgrind is not installed" >&2; return 1; }
      targets=(sptcsim)
      build release &&
        python3 tests/golden/outputs/outputs_test.py --only "${tests:-fidelity datapath}" --program \
          "valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite build/release/sptcsim"
      ;;
  esac
}

if [[ -n $run ]]; then
  run_step "$run"
  exit
fi

if [[ ${#steps[@]} -eq 0 ]]; then
  steps=("${all[@]}")
fi
options=(--tests "$tests" -j "$jobs")
for target in "${targets[@]}"; do
  options+=(--target "$target")
done
summary=() failures=0
for step in "${steps[@]}"; do
  printf '\n== %s\n' "$step"
  started=$SECONDS outcome=ok
  timeout --kill-after=30 "${minutes}m" "$script" --run "$step" "${options[@]}"
  status=$?
  if [[ $status -eq 124 || $status -eq 137 ]]; then
    outcome="TIME OVER"
  elif [[ $status -ne 0 ]]; then
    outcome=FAILED
  fi
  if [[ $status -ne 0 ]]; then
    failures=$((failures + 1))
  fi
  summary+=("$(printf '%-10s %-10s %6d s' "$step" "$outcome" $((SECONDS - started)))")
done
printf '\n== Summary\n'
printf '%s\n' "${summary[@]}"
if [[ $failures -gt 0 ]]; then
  echo "$failures of ${#summary[@]} steps FAILED in $SECONDS s."
  exit 1
fi
echo "All ${#summary[@]} steps passed in $SECONDS s."
