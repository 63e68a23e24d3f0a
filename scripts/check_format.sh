#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks every C++ file that git knows (tracked, or new and not ignored) against .clang-format; --fix rewrites them
# instead. Exit 1 if a file differs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1:-} in
  "") mode=(--dry-run -Werror) ;;
  --fix) mode=(-i) ;;
  -h | --help)
    sed -n '3,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
  *)
    echo "check_format.sh: unknown option '$1'; allowed: --fix, --help" >&2
    exit 2
    ;;
esac

files=()
while IFS= read -r -d '' file; do
  if [[ -f $file ]]; then
    files+=("$file")
  fi
done < <(git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cpp' '*.cu')
if [[ ${#files[@]} -eq 0 ]]; then
  echo "check_format.sh: no C++ files found; is this a git checkout?" >&2
  exit 1
fi
clang-format "${mode[@]}" "${files[@]}"
echo "Format: ${#files[@]} files follow .clang-format."
