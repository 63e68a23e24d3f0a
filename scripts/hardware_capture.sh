#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures the GPU of this machine: builds the kernels for it in build/hardware, runs everything (8 minutes), and writes one
# capture directory (tests/hardware/CAPTURE.md), which `sptcsim crosscheck` compares with the simulator. Needs nvcc, a GPU
# from Turing on (Volta with a CUDA 12 toolkit), and what scripts/install_dependencies.sh installs; no network. An item that
# fails, kills its process or never ends is recorded in capture.json, and the rest goes on. Where build/release/sptcsim is
# built, the comparison is written beside the capture, as crosscheck.txt.
#
#   hardware_capture.sh [--quick] [--out DIRECTORY] [-j N] [-- OPTIONS OF hardware_capture]
#
#   --quick           two minutes in place of eight
#   --out DIRECTORY   of the capture (default captures/<GPU>-<date>)
#   -j N              compile jobs (default: all processors)
#   --help            this text
#
# Exit codes: 0 captured (look at the items in capture.json), 2 no nvcc, no usable GPU, or bad usage, others: the build failed.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc)
quick=() out='' extra=()

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
      sed -n '3,17s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *) fail "unknown option '$1'; allowed: --quick, --out DIRECTORY, -j N, --help, and after -- those of hardware_capture" ;;
  esac
  shift || break
done
[[ $jobs =~ ^[1-9][0-9]*$ ]] || fail "-j needs a positive number, not '$jobs'"

nvcc=${CUDACXX:-$(command -v nvcc || true)}
if [[ -z $nvcc && -x /usr/local/cuda/bin/nvcc ]]; then
  nvcc=/usr/local/cuda/bin/nvcc
fi
[[ -n $nvcc ]] || fail "nvcc was not found: install a CUDA toolkit, put its bin folder into PATH, or set CUDACXX"
"$nvcc" --version > /dev/null 2>&1 || fail "'$nvcc' does not run"
command -v nvidia-smi > /dev/null || fail "no GPU: nvidia-smi was not found, so the driver is not installed"
gpu=$(nvidia-smi --query-gpu=name,compute_cap --format=csv,noheader 2> /dev/null | head -n 1) || gpu=''
[[ $gpu == *,* ]] || fail "no GPU: nvidia-smi lists none"
name=${gpu%%,*}
capability=${gpu##*, }
[[ $capability =~ ^[0-9]+\.[0-9]+$ ]] || fail "the compute capability of $name is not known: '$capability'"

# wgmma exists in the architecture-specific target of Hopper only.
target=${capability/./}
if [[ $target == 90 ]]; then
  target=90a
fi
supported=$("$nvcc" --list-gpu-arch)
grep -q "compute_${target%a}\$" <<< "$supported" ||
  fail "$("$nvcc" --version | grep -o 'release [0-9.]*') of nvcc has no code for $name (sm_$target)"

if [[ -z $out ]]; then
  out=$root/captures/$(tr -cs 'A-Za-z0-9\n' '-' <<< "$name" | tr '[:upper:]' '[:lower:]')-$(date -u +%Y%m%dT%H%M%S)
fi
commit=$(git -C "$root" rev-parse --short HEAD 2> /dev/null || true)
if [[ -n $commit && -n $(git -C "$root" status --porcelain 2> /dev/null) ]]; then
  commit+=-dirty
fi

mkdir -p "$root/build"
echo "$name, sm_$target, $nvcc" >&2
build=$root/build/hardware
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSPTC_CUDA=ON -DSPTC_CUDA_TARGETS="$target" \
  -DCMAKE_CUDA_COMPILER="$nvcc" -DSPTC_BUILD_TESTS=OFF -DSPTC_BUILD_HARDWARE=ON > "$root/build/hardware.log" 2>&1 &&
  cmake --build "$build" --parallel "$jobs" --target hardware_capture >> "$root/build/hardware.log" 2>&1
status=$?
if [[ $status -ne 0 ]]; then
  tail -n 30 "$root/build/hardware.log" >&2
  echo "hardware_capture.sh: the build failed; all of it: $root/build/hardware.log" >&2
  exit "$status"
fi

"$build/hardware_capture" "$out" "${quick[@]}" ${commit:+--commit "$commit"} "${extra[@]}"
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
