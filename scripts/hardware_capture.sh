#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures the GPU of this machine: builds the kernels for it in build/hardware, runs everything (16 minutes), and writes one
# capture directory (tests/hardware/CAPTURE.md) and a .tar.gz of it, which `sptcsim crosscheck` compares with the simulator.
# The GPU is one from Turing on (Volta with a CUDA 12 toolkit). Needs the driver, nvcc 12.0 (GPUs from Ada on: 12.4), a C++20
# compiler, CMake 3.25, and the headers of fmt, nlohmann-json, CLI11 and Highway (scripts/install_dependencies.sh hardware);
# no network. Where those are not to be had, make a bundle elsewhere (--bundle): unpacked beside the GPU it needs the driver.
# An item that fails, kills its process or never ends is recorded in capture.json, and the rest goes on. Where
# build/release/sptcsim is built, the comparison is written beside the capture, as crosscheck.txt.
#
#   hardware_capture.sh [--quick] [--out DIRECTORY] [--gpu N] [-j N] [-- OPTIONS OF hardware_capture]
#   hardware_capture.sh --bundle FILE.tar.gz [-j N]
#
#   --quick           four minutes in place of sixteen
#   --out DIRECTORY   of the capture (default captures/<GPU>-<date>)
#   --gpu N           the GPU that nvidia-smi lists as N (default: the first of CUDA_VISIBLE_DEVICES, else 0)
#   -j N              compile jobs (default: all processors)
#   --bundle FILE     no capture: packs the program for all GPUs that nvcc knows, its data and this script into FILE;
#                     there: tar xf FILE && sptcsim-hardware/scripts/hardware_capture.sh
#   --help            this text
#
# Exit codes: 0 captured (look at the items in capture.json), 2 something is missing, or bad usage, others: the build failed.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc)
quick=() out='' extra=() bundle='' chosen=${CUDA_VISIBLE_DEVICES:-}

fail() {
  echo "hardware_capture.sh: $1" >&2
  exit 2
}

while [[ $# -gt 0 ]]; do
  case $1 in
    --quick) quick=(--quick) ;;
    --out)
      out=${2:-}
      [[ -n $out ]] || fail "--out needs a directory"
      shift
      ;;
    --gpu)
      chosen=${2:-}
      [[ $chosen =~ ^[0-9]+$ ]] || fail "--gpu needs a number of nvidia-smi, not '$chosen'"
      shift
      ;;
    --bundle)
      bundle=${2:-}
      [[ $bundle == *.tar.gz ]] || fail "--bundle needs the name of a .tar.gz, not '$bundle'"
      shift
      ;;
    -j)
      jobs=${2:-}
      shift
      ;;
    --)
      shift
      extra=("$@")
      break
      ;;
    -h | --help)
      sed -n '3,23s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *) fail "unknown option '$1'; allowed: --quick, --out DIRECTORY, --gpu N, -j N, --bundle FILE, --help, and after -- those of hardware_capture" ;;
  esac
  shift || break
done
[[ $jobs =~ ^[1-9][0-9]*$ ]] || fail "-j needs a positive number, not '$jobs'"

find_nvcc() {
  nvcc=${CUDACXX:-$(command -v nvcc || true)}
  if [[ -z $nvcc && -x /usr/local/cuda/bin/nvcc ]]; then
    nvcc=/usr/local/cuda/bin/nvcc
  fi
  [[ -n $nvcc ]] || fail "nvcc was not found: install a CUDA toolkit, put its bin folder into PATH, or set CUDACXX (without a toolkit: --bundle on another machine)"
  release=$("$nvcc" --version 2> /dev/null | sed -n 's/.*release \([0-9]*\.[0-9]*\).*/\1/p')
  [[ -n $release ]] || fail "'$nvcc' does not run"
  supported=$("$nvcc" --list-gpu-arch)
}

# at_least A B: the version A is B or later.
at_least() {
  [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]
}

# Name and compute capability of the GPU that the program will open.
find_gpu() {
  export CUDA_DEVICE_ORDER=PCI_BUS_ID # the order of nvidia-smi
  if [[ -n $chosen ]]; then
    export CUDA_VISIBLE_DEVICES=$chosen
  fi
  PATH=$PATH:/usr/local/nvidia/bin:/usr/lib/wsl/lib
  command -v nvidia-smi > /dev/null || fail "no GPU: nvidia-smi was not found, so the driver is not installed"
  local which=() gpu
  if [[ -n $chosen && $chosen != MIG-* ]]; then
    which=(-i "${chosen%%,*}")
  fi
  gpu=$(nvidia-smi "${which[@]}" --query-gpu=name,compute_cap --format=csv,noheader 2> /dev/null | head -n 1) || gpu=''
  [[ $gpu == *,* ]] || fail "no GPU: nvidia-smi lists none${chosen:+ that is GPU $chosen}"
  name=${gpu%%,*}
  capability=${gpu##*, }
  [[ $capability =~ ^[0-9]+\.[0-9]+$ ]] || fail "the compute capability of $name is not known: '$capability'"
}

# wgmma exists in the architecture-specific target of Hopper only.
target_of() {
  local target=${1/./}
  if [[ $target == 90 ]]; then
    target=90a
  fi
  echo "$target"
}

# Without a release of 12.4 there is no fp8 in mma.
require_toolkit() {
  at_least "$release" 12.0 || fail "nvcc $release is too old: 12.0 or later compiles C++20"
  if [[ ${1%a} -ge 89 ]]; then
    at_least "$release" 12.4 || fail "nvcc $release is too old for sm_$1: 12.4 or later has its instructions"
  fi
}

# build TARGETS DIRECTORY FLAGS...
build() {
  local targets=$1 directory=$2
  shift 2
  command -v cmake > /dev/null || fail "cmake was not found: install it, or use --bundle on another machine"
  local generator=()
  if command -v ninja > /dev/null; then
    generator=(-G Ninja)
  fi
  mkdir -p "$root/build"
  cmake -S "$root" -B "$directory" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DSPTC_ONLY_HARDWARE=ON -DSPTC_CUDA=ON \
    -DSPTC_CUDA_TARGETS="$targets" -DCMAKE_CUDA_COMPILER="$nvcc" -DSPTC_BUILD_TESTS=OFF "$@" > "$root/build/hardware.log" 2>&1 &&
    cmake --build "$directory" --parallel "$jobs" --target hardware_capture >> "$root/build/hardware.log" 2>&1
  local status=$?
  if [[ $status -ne 0 ]]; then
    tail -n 30 "$root/build/hardware.log" >&2
    echo "hardware_capture.sh: the build failed; all of it: $root/build/hardware.log" >&2
    exit "$status"
  fi
}

commit_of_tree() {
  local commit
  commit=$(git -C "$root" rev-parse --short HEAD 2> /dev/null) || return 0
  if [[ -n $(git -C "$root" status --porcelain 2> /dev/null) ]]; then
    commit+=-dirty
  fi
  echo "$commit"
}

make_bundle() {
  find_nvcc
  require_toolkit 90a
  local targets=() target stage
  for target in 70 75 80 86 89 90 100 120; do
    if grep -q "compute_$target\$" <<< "$supported"; then
      targets+=("$(target_of "$target")")
    fi
  done
  build "$(IFS=';'; echo "${targets[*]}")" "$root/build/hardware-bundle" \
    "-DCMAKE_EXE_LINKER_FLAGS=-static-libstdc++ -static-libgcc"
  stage=$(mktemp -d) || exit 2
  # shellcheck disable=SC2064 # expanded now: the variable is gone when the script exits
  trap "rm -rf '$stage'" EXIT
  local to=$stage/sptcsim-hardware
  mkdir -p "$to/bin" "$to/scripts" "$to/tests/hardware" "$to/tests/golden"
  cp "$root/build/hardware-bundle/hardware_capture" "$to/bin/"
  cp "$root/scripts/hardware_capture.sh" "$to/scripts/"
  cp "$root/LICENSE" "$to/"
  cp "$root"/tests/hardware/{probes.json,shapes.csv,pair_shapes.csv,CAPTURE.md,capture.schema.json} "$to/tests/hardware/"
  cp -r "$root/tests/golden/numerics" "$to/tests/golden/"
  commit_of_tree > "$to/commit"
  { tar -C "$stage" -czf "$bundle.part" sptcsim-hardware && mv "$bundle.part" "$bundle"; } ||
    fail "'$bundle' cannot be written"
  echo "$bundle: CUDA $release, sm_${targets[*]}; beside the GPU: tar xf $(basename "$bundle") && sptcsim-hardware/scripts/hardware_capture.sh" >&2
}

# cuBLASLt and cuSPARSELt also come with the toolkit and as Python packages, where the loader does not look by itself.
add_library_folders() {
  local folder
  for folder in /usr/local/cuda/lib64 /usr/local/cuda/targets/*/lib \
    $(python3 -c 'import site; print(*site.getsitepackages(), site.getusersitepackages(), sep="\n")' 2> /dev/null |
      while read -r packages; do ls -d "$packages"/nvidia/*/lib 2> /dev/null; done); do
    if [[ -d $folder ]]; then
      export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
    fi
  done
}

if [[ -n $bundle ]]; then
  make_bundle
  exit 0
fi

if [[ -x $root/bin/hardware_capture ]]; then # a bundle
  find_gpu
  program=$root/bin/hardware_capture
  commit=$(cat "$root/commit" 2> /dev/null)
  extra=(--data "$root/tests" "${extra[@]}")
  echo "$name, $program" >&2
else
  find_nvcc
  find_gpu
  target=$(target_of "$capability")
  grep -q "compute_${target%a}\$" <<< "$supported" || fail "release $release of nvcc has no code for $name (sm_$target)"
  require_toolkit "$target"
  echo "$name, sm_$target, $nvcc" >&2
  build "$target" "$root/build/hardware"
  program=$root/build/hardware/hardware_capture
  commit=$(commit_of_tree)
fi
if [[ -z $out ]]; then
  out=$root/captures/$(tr -cs 'A-Za-z0-9\n' '-' <<< "$name" | tr '[:upper:]' '[:lower:]')-$(date -u +%Y%m%dT%H%M%S)
fi

add_library_folders
"$program" "$out" "${quick[@]}" ${commit:+--commit "$commit"} "${extra[@]}"
status=$?
if [[ $status -ne 0 ]]; then
  exit "$status"
fi
echo "Capture: $out" >&2
sptcsim=$root/build/release/sptcsim
if [[ -x $sptcsim ]]; then
  "$sptcsim" crosscheck "$out" --out "$out/crosscheck.txt"
  case $? in
    0) echo "Compared: no wrong word; $out/crosscheck.txt" >&2 ;;
    1) echo "Compared: hardware and simulator differ in bits; see $out/crosscheck.txt" >&2 ;;
    *) echo "The comparison failed; run: $sptcsim crosscheck '$out'" >&2 ;;
  esac
else
  echo "Compare: build/release/sptcsim crosscheck '$out'" >&2
fi
tar -C "$(dirname "$out")" -czf "$out.tar.gz" "$(basename "$out")" && echo "To take along: $out.tar.gz" >&2
