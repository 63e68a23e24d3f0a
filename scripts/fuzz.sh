#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Looks for inputs that a reader of files neither takes nor refuses: libFuzzer with AddressSanitizer, each reader for some
# minutes, beginning with tests/fuzz/corpus. Needs clang. Prints executions and edges of each; exit 1 where one has a
# finding, which is then in build/fuzz/findings. No READER: all of them.
#
#   fuzz.sh [options] [READER ...]
#   --minutes N   for each reader (default 1)
#   --merge       puts the smallest inputs that reach new edges into tests/fuzz/corpus
#   --list        prints the readers
#   -j N          compile jobs (default: all processors)
#   --help        this text
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
minutes=1 merge=false list=false jobs=$(nproc) readers=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --minutes) minutes=${2:-}; shift ;;
    -j) jobs=${2:-}; shift ;;
    --merge) merge=true ;;
    --list) list=true ;;
    -h | --help) sed -n '3,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) echo "fuzz.sh: unknown option '$1'; allowed: --minutes N, --merge, --list, -j N, --help" >&2; exit 2 ;;
    *) readers+=("$1") ;;
  esac
  shift || break
done
if ! [[ $minutes =~ ^[0-9]+(\.[0-9]+)?$ && $minutes =~ [1-9] && $jobs =~ ^[1-9][0-9]*$ ]]; then
  echo "fuzz.sh: --minutes and -j take positive numbers, not '$minutes' and '$jobs'" >&2
  exit 2
fi

cd "$root" || exit 1
corpus=tests/fuzz/corpus
mapfile -t known < <(find "$corpus" -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort)
if $list; then
  printf '%s\n' "${known[@]}"
  exit 0
fi
if [[ ${#readers[@]} -eq 0 ]]; then
  readers=("${known[@]}")
fi
for reader in "${readers[@]}"; do
  if [[ ! -d $corpus/$reader ]]; then
    echo "fuzz.sh: there is no reader '$reader'; --list prints them" >&2
    exit 2
  fi
done

build=build/fuzz findings=build/fuzz/findings
launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
cxx=$(command -v clang++ || command -v clang++-14) || { echo "fuzz.sh: needs clang++" >&2; exit 2; }
mkdir -p "$findings"
if ! { cmake -G Ninja -B "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_CXX_COMPILER=$cxx" "${launcher[@]}" \
  -DSPTC_LIBFUZZER=ON -DSPTC_PYTHON=OFF -DSPTC_CUDA=OFF &&
  cmake --build "$build" --parallel "$jobs" --target reader_fuzzer; } >"$build/build.log" 2>&1; then
  tail -n 30 "$build/build.log"
  exit 2
fi
fuzzer=$build/tests/fuzz/libfuzzer/reader_fuzzer

# Readers of files write them anew for every input: in memory, where there is such a place.
if [[ -d /dev/shm && -w /dev/shm ]]; then
  export TMPDIR=/dev/shm
fi
seconds=$(awk -v minutes="$minutes" 'BEGIN { seconds = int(minutes * 60 + 0.5); print seconds < 1 ? 1 : seconds }')
printf '%-20s %12s %8s %8s  %s\n' reader executions edges inputs outcome
failures=0
for reader in "${readers[@]}"; do
  grown=$build/grown/$reader
  log=$build/$reader.log
  mkdir -p "$grown"
  outcome=ok
  export SPTC_FUZZ_READER=$reader
  if ! "$fuzzer" -max_total_time="$seconds" -max_len=65536 -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="$findings/$reader-" "$grown" "$corpus/$reader" >"$log" 2>&1; then
    outcome="FINDING: $(grep -m1 -E 'ERROR:|SUMMARY:|terminate called' "$log"); see $log"
    failures=$((failures + 1))
  fi
  if $merge && [[ $outcome == ok ]]; then
    "$fuzzer" -merge=1 -max_len=4096 "$corpus/$reader" "$grown" >>"$log" 2>&1
  fi
  printf '%-20s %12s %8s %8s  %s\n' "$reader" \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)" \
    "$(grep -o 'cov: [0-9]*' "$log" | tail -n 1 | cut -c6-)" "$(find "$grown" -type f | wc -l)" "$outcome"
done
if [[ $failures -gt 0 ]]; then
  echo "$failures of ${#readers[@]} readers have a finding in $findings."
  exit 1
fi
echo "No finding in ${#readers[@]} readers of $minutes minutes each."
