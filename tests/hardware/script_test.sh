#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/hardware_capture.sh from its first check to the comparison, without a GPU: nvcc, nvidia-smi and cmake are stand-ins
# in a directory of their own, and what cmake "builds" is hardware_capture with the simulator in place of the device.
#
#   script_test.sh SCRIPT STANDIN SPTCSIM DATA      DATA: the folder tests/ of the repository
set -euo pipefail
script=$(realpath "$1") standin=$(realpath "$2") sptcsim=$(realpath "$3") data=$(realpath "$4")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/repository tools=$work/tools
mkdir -p "$root/scripts" "$root/build/release" "$tools"
cp "$script" "$root/scripts/hardware_capture.sh"
ln -s "$sptcsim" "$root/build/release/sptcsim"

tool() {
  { echo '#!/usr/bin/env bash'; cat; } > "$tools/$1"
  chmod +x "$tools/$1"
}
# shellcheck disable=SC2016 # expanded when the tool runs
tool nvcc << 'EOF'
case $1 in
  --version) echo "Cuda compilation tools, release ${STANDIN_CUDA:-13.0}, V13.0.88" ;;
  --list-gpu-arch) printf 'compute_75\ncompute_80\ncompute_90\n' ;;
esac
EOF
tool nvidia-smi << EOF
echo "\$CUDA_DEVICE_ORDER \$*" > $work/asked
[[ -e $work/no_gpu ]] || cat $work/gpu
EOF
tool cmake << EOF
echo "\$*" >> $work/cmake.log
[[ ! -e $work/broken_build ]] || { echo 'error: the build is broken, planted'; exit 1; }
if [[ \$1 == --build ]]; then
  mkdir -p "\$2" && ln -sf $standin "\$2/hardware_capture"
fi
EOF
export PATH=$tools:$PATH CUDACXX=$tools/nvcc
echo 'NVIDIA A100-SXM4-80GB, 8.0' > "$work/gpu"

fail() {
  echo "script_test.sh: $1" >&2
  [[ -z ${2:-} ]] || cat "$2" >&2
  exit 1
}
# expect STATUS TEXT ARGUMENTS: the script ends so, and says so.
expect() {
  local wanted=$1 text=$2 status=0
  shift 2
  "$root/scripts/hardware_capture.sh" "$@" > "$work/log" 2>&1 || status=$?
  [[ $status -eq $wanted ]] || fail "exit $status in place of $wanted: $*" "$work/log"
  grep -qF -- "$text" "$work/log" || fail "'$text' is missing: $*" "$work/log"
}
# item CAPTURE NAME: "status reason" of an item.
item() {
  python3 - "$1/capture.json" "$2" << 'EOF'
import json, sys
items = [i for i in json.load(open(sys.argv[1]))["items"] if i["name"] == sys.argv[2]]
assert len(items) == 1, f"{len(items)} items {sys.argv[2]}"
print(items[0]["status"], items[0]["reason"])
EOF
}

# What stops it before anything is built.
expect 2 "unknown option '--fast'" --fast
expect 2 "--out needs a directory" --out
expect 2 "-j needs a positive number, not 'x'" -j x
expect 0 "Exit codes" --help
touch "$work/no_gpu"
expect 2 "no GPU: nvidia-smi lists none"
rm "$work/no_gpu"
echo 'NVIDIA X, [N/A]' > "$work/gpu"
expect 2 "the compute capability of NVIDIA X is not known"
echo 'NVIDIA V100, 7.0' > "$work/gpu"
expect 2 "release 13.0 of nvcc has no code for NVIDIA V100 (sm_70)"
echo 'NVIDIA A100-SXM4-80GB, 8.0' > "$work/gpu"
echo 'NVIDIA H200, 9.0' > "$work/gpu"
STANDIN_CUDA=11.8 expect 2 "nvcc 11.8 is too old: 12.0 or later compiles C++20"
STANDIN_CUDA=12.3 expect 2 "nvcc 12.3 is too old for sm_90a: 12.4 or later has its instructions"
expect 2 "--gpu needs a number of nvidia-smi, not 'x'" --gpu x
expect 2 "--bundle needs the name of a .tar.gz, not 'x'" --bundle x
touch "$work/no_gpu"
expect 2 "nvidia-smi lists none that is GPU 3" --gpu 3
grep -q '^PCI_BUS_ID -i 3 ' "$work/asked" || fail "another GPU" "$work/asked"
rm "$work/no_gpu"
echo 'NVIDIA A100-SXM4-80GB, 8.0' > "$work/gpu"
touch "$work/broken_build"
expect 1 "the build is broken, planted" -j 1
rm "$work/broken_build"

# A whole capture in the short programme, however slow the machine is; one instruction kills the process on its way.
capture=$work/capture
small=(--data "$data" --no-golden --cases 1)
SECONDS=0
SPTC_STANDIN_FAULT=crash expect 0 "Capture: $capture" --quick --out "$capture" -j 1 -- "${small[@]}" --minutes 60
echo "quick capture: $SECONDS s"
grep -q -- "-DSPTC_CUDA_TARGETS=80 " "$work/cmake.log" || fail "another target" "$work/cmake.log"
grep -qF "the rest goes on" "$work/log" || fail "nothing went wrong" "$work/log"
killed=$(item "$capture" bits/mma.m16n8k8.f16.f16.f16.f16.defined)
[[ $killed == "failed the process ended with signal 9 (Killed)" ]] || fail "killed: $killed"
[[ $(item "$capture" bits/mma.m16n8k16.f16.f16.f16.f16.defined) == "ok None" ]] || fail "the rest did not go on"
[[ $(item "$capture" gemm/cusparselt) == "absent libcusparseLt was not found" ]] || fail "cuSPARSELt"
for file in probes microbench memory gemm power; do
  [[ -s $capture/$file.json ]] || fail "$file.json is missing"
done
[[ $(item "$capture" pairs/own) == "ok None" ]] || fail "pairs: $(item "$capture" pairs/own)"
python3 "$data/hardware/check_pairs.py" "$capture/pairs.csv" || fail "pairs.csv"
[[ ! -e $capture/items.jsonl ]] || fail "the journal was left over"
tar -tzf "$capture.tar.gz" | grep -q '^capture/crosscheck.txt$' || fail "the archive"
python3 - "$capture/capture.json" << 'EOF'
import json, sys
capture = json.load(open(sys.argv[1]))
assert capture["origin"] == "simulated" and capture["quick"], capture
EOF
if python3 -c 'import jsonschema' 2> /dev/null; then
  python3 - "$data/hardware/capture.schema.json" "$capture" << 'EOF'
import json, jsonschema, pathlib, sys
schema, capture = json.load(open(sys.argv[1])), pathlib.Path(sys.argv[2])
for name in ("capture", "probes", "microbench", "memory", "gemm", "power"):
    jsonschema.validate(json.load(open(capture / f"{name}.json")), {**schema, "$ref": f"#/definitions/{name}"})
EOF
else
  echo "python3-jsonschema is not installed: the files are not compared with capture.schema.json"
fi
# The comparison stands beside it: no wrong word, and times that are those of the simulator.
grep -q "mismatches$" "$capture/crosscheck.txt" || fail "no crosscheck" "$work/log"
grep -q "words compared, 0 mismatches" "$capture/crosscheck.txt" || fail "mismatches" "$capture/crosscheck.txt"
for group in latency throughput 'pointer chase' bandwidth power; do
  grep -q "^$group: .*largest [01]\.[0-9] %" "$capture/crosscheck.txt" || fail "$group" "$capture/crosscheck.txt"
done

# The directory is never written over.
expect 2 "holds a capture already" --quick --out "$capture" -- "${small[@]}"

# A device that fails for good is opened anew; time that is up leaves rows out, and says so.
SPTC_STANDIN_FAULT=lost expect 0 "Capture: $root/captures/nvidia-a100-sxm4-80gb-" --quick -- "${small[@]}" --minutes 0.001 --pair-minutes 0.001
default=$(find "$root/captures" -mindepth 1 -maxdepth 1 -type d)
[[ $(item "$default" bits/mma.m16n8k8.f16.f16.f16.f16.defined) == "failed cudaErrorIllegalAddress, planted" ]] || fail "lost"
[[ $(item "$default" probes) == ok* ]] || fail "the probes after a lost device"
[[ $(item "$default" gemm/own) == partial*"were left out for want of time"* ]] || fail "$(item "$default" gemm/own)"

# A bundle runs where there is neither nvcc nor cmake, and brings its data.
mkdir -p "$root/tests/hardware" "$root/tests/golden/numerics"
cp "$data"/hardware/{probes.json,shapes.csv,pair_shapes.csv,CAPTURE.md,capture.schema.json} "$root/tests/hardware/"
touch "$root/LICENSE"
mkdir "$work/temporary"
TMPDIR=$work/temporary expect 0 "sm_75 80 90a" --bundle "$work/kit.tar.gz" -j 1
[[ -z $(ls "$work/temporary") ]] || fail "the bundle left its files in the temporary directory" "$work/log"
grep -q -- "-DSPTC_CUDA_TARGETS=75;80;90a " "$work/cmake.log" || fail "targets of the bundle" "$work/cmake.log"
tar -C "$work" -xzf "$work/kit.tar.gz"
rm "$tools/nvcc" "$tools/cmake"
root=$work/sptcsim-hardware
unset CUDACXX
expect 0 "Capture: $work/sptcsim-hardware/captures/nvidia-a100-sxm4-80gb-" --quick -- --no-golden --cases 1 --bits-only
[[ $(item "$(find "$root/captures" -mindepth 1 -maxdepth 1 -type d)" probes) == ok* ]] || fail "the probes of the bundle"
expect 0 "Capture: $work/pairs" --quick --out "$work/pairs" -- --pairs-only
[[ $(item "$work/pairs" pairs/own) == "ok None" ]] || fail "the pairs of the bundle"
echo "script_test.sh: passed"
