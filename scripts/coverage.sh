#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Which lines of sim and models the tests execute: the least covered files.
#
#   --tests REGEX    tests whose names it finds (default: all that are not slow)
#   --least N        files to list (default: 10)
#   --below PERCENT  exit 1 where a file has less than this of its lines
#   -j N             compile and test jobs (default: all processors)
#   --help           this text
#
# Needs clang 14 and its llvm-profdata and llvm-cov. Files of fewer than 20 lines are left out, and so are those that are
# compiled for each instruction set: their counts do not add up. Behind a fork() the parent's lines count as not executed.
# The preset leaves out tests of little memory: LLVM's runtime takes some, and writes a message of its own at its end.
set -uo pipefail

root=$(cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/.." && pwd)
tests='' least=10 below=0 jobs=$(nproc)
while [[ $# -gt 0 ]]; do
  case $1 in
    --tests) tests=${2:-}; shift ;;
    --least) least=${2:-}; shift ;;
    --below) below=${2:-}; shift ;;
    -j) jobs=${2:-}; shift ;;
    -h | --help) sed -n '3,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "coverage.sh: unknown option '$1'; allowed: --tests REGEX, --least N, --below PERCENT, -j N, --help" >&2
       exit 2 ;;
  esac
  shift || break
done
if ! [[ $least =~ ^[1-9][0-9]*$ && $jobs =~ ^[1-9][0-9]*$ && $below =~ ^[0-9]+$ ]]; then
  echo "coverage.sh: --least, --below and -j take whole numbers, not '$least', '$below' and '$jobs'" >&2
  exit 2
fi
cd "$root" || exit 1
build=build/coverage
cmake --preset coverage && cmake --build --preset coverage --parallel "$jobs" || exit 1

counts=$root/$build/counts
rm -rf "$counts" && mkdir -p "$counts"
# %c: counts are written as they are made, so that killed processes and workers have theirs. %m: one file a program.
LLVM_PROFILE_FILE="$counts/%c%m.profraw" ctest --preset coverage --parallel "$jobs" ${tests:+--tests-regex "$tests"}
failed=$?
llvm-profdata-14 merge --sparse -o "$counts/all.profdata" "$counts"/*.profraw || exit 1
objects=()
while read -r file; do
  if readelf -S "$file" 2>/dev/null | grep -q __llvm_covmap; then
    objects+=("--object=$file")
  fi
done < <(find "$build/tests" -type f -executable)
llvm-cov-14 export --summary-only --instr-profile="$counts/all.profdata" "$build/sptcsim" "${objects[@]}" sim models \
  > "$counts/summary.json" || exit 1
LEAST=$least BELOW=$below FAILED=$failed python3 - "$counts/summary.json" "$root" << 'PYTHON'
import json, os, pathlib, sys

root = pathlib.Path(sys.argv[2])
files = [(f["summary"]["lines"], pathlib.Path(f["filename"]).resolve()) for f in json.load(open(sys.argv[1]))["data"][0]["files"]]
files = [(lines, path.relative_to(root)) for lines, path in files if path.is_relative_to(root / "sim") or path.is_relative_to(root / "models")]
clones = ("HWY_", "foreach_target", "SPTC_VECTOR_CLONES")
files = [(lines["covered"] / lines["count"], lines["count"], name) for lines, name in files
         if lines["count"] >= 20 and not any(word in (root / name).read_text() for word in clones)]
executed, total = sum(share * count for share, count, _ in files), sum(count for _, count, _ in files)
print(f"\n{len(files)} files, {total} lines, {100 * executed / total:.1f} % of them executed\n")
print("| file | lines | % executed |\n|---|---:|---:|")
for share, count, name in sorted(files)[:int(os.environ["LEAST"])]:
    print(f"| `{name}` | {count} | {100 * share:.1f} |")
under = sum(100 * share < int(os.environ["BELOW"]) for share, _, _ in files)
sys.exit(1 if under or os.environ["FAILED"] != "0" else 0)
PYTHON
