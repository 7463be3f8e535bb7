#!/usr/bin/env bash
# Tests/Fuzzing/run.sh [TARGET] [SECONDS] [merge | seed=N]
#   TARGET   one of Tests/FuzzTargets (frames, messages, …), or all (default), one after the other
#   SECONDS  how long each runs; default 60; 0 only replays the corpus
#   merge    afterwards the corpus keeps what reaches new code, and nothing else
#   seed=N   the seed of libFuzzer's random numbers
# Builds the targets with libFuzzer (the first build takes minutes) and runs them on Corpus/TARGET.base64
# and their own seeds. Prints what libFuzzer says on standard error, and fails with the first finding: its
# input is kept in findings/, and standard output says in base64 what it was.
# Try a finding again: .build/release/tandemfuzz TARGET FILE
set -euo pipefail
cd "$(dirname "$0")"
wanted=${1:-all} seconds=${2:-60} mode=${3:-}
seed=0
[[ $mode != seed=* ]] || seed=${mode#seed=}
log() { echo "fuzz: $*" >&2; }

swift build -c release --sanitize fuzzer --product tandemfuzz >&2
fuzzer=$PWD/.build/release/tandemfuzz
# The runtime's own report of a crash would hang in libFuzzer's handler.
export SWIFT_BACKTRACE=enable=no

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# found TARGET
found() {
    for input in findings/"$1"-*; do echo "$input: $(base64 -w0 "$input")"; done
    exit 77
}
# one TARGET
one() {
    local folder=$tmp/$1 options=(-rss_limit_mb=1024 -timeout=10 -max_len=4096 "-seed=$seed")
    mkdir -p "$folder/in" "$folder/out" findings
    "$fuzzer" unpack "$1" "Corpus/$1.base64" "$folder/in"
    [[ ! -f Dictionaries/$1.dict ]] || options+=("-dict=Dictionaries/$1.dict")
    log "$1: $seconds s"
    if [[ $seconds == 0 ]]; then
        "$fuzzer" "$1" -runs=0 "${options[@]}" "$folder/in"
    else
        "$fuzzer" "$1" "-max_total_time=$seconds" "-artifact_prefix=findings/$1-" "${options[@]}" \
            "$folder/in" >&2 || found "$1"
    fi
    [[ $mode == merge ]] || return 0
    "$fuzzer" "$1" -set_cover_merge=1 -use_counters=0 "${options[@]}" "$folder/out" "$folder/in"
    "$fuzzer" pack "$folder/out" "Corpus/$1.base64"
    log "$1: $(wc -l <"Corpus/$1.base64") inputs, $(wc -c <"Corpus/$1.base64") bytes in the corpus"
}

if [[ $wanted == all ]]; then
    for target in $("$fuzzer" list); do one "$target"; done
else
    one "$wanted"
fi
rmdir --ignore-fail-on-non-empty findings
