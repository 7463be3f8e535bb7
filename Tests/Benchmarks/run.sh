#!/usr/bin/env bash
# Tests/Benchmarks/run.sh [SCENARIO] [N]
#   SCENARIO  p1, p2, p3, p4, p5, p6, p7, p8, or all of these (default); cli (the tool: its start, log -n 20 over a GiB, -o json,
#             the past of few among many with indexes of the journal and without),
#             clients (saves as in p1 with and without a
#             thousand clients, a hundred of them stopped; the daemon's memory); freeze (saves and counts of
#             one client beside expensive predicates of another); load (10 s under load: the slowest saves and what
#             they waited for), recovery (changes applied a second), memory (a million saves), batch
#             (batches over all objects while another client saves: the time of its saves), flights (the tool imports the
#             flights with their links), links (the tool exports linked rows and imports them), lookup (an
#             object by its unique key, beside a bare round trip), count (by an indexed condition, beside
#             a walk over the keys in LMDB), migrate (one more attribute and index: how long others wait);
#             p6apart (p6 with all senders on one core and all subscribers on another, so that it does not
#             count where the scheduler puts whom);
#             p5 also opens the list just after a save of its own; p8 needs libsqlite3-dev;
#             latency (the time of each stage of a save, and until a list in another process has changed, by the system
#             calls of p1 and p3; needs root and `perf trace`, and the traced calls take a few microseconds more);
#             without a daemon: sync (ways to make an append durable), journal (opening one, and
#             appends while the next segment is made)
#   N         number of contents; default: 10000, p3, p4 and p5 1000, 10000 and 100000,
#             p7, p8, recovery, batch and lookup 100000; freeze: of texts, 15; cli, count and migrate 1000000; flights: of
#             runs, 5; links: of people, 180000, besides 27000 other rows; p6: of subscribers, 64 and 256; clients: of clients, 1000;
#             sync: appends a round, 300; journal: MiB, 1024
# Environment:
#   FLIGHTS    folder with the flights (default ../shared/data/nycflights13, from the project's root)
#   PEERS_TMP  folder on the disk to measure (default /tmp; not a tmpfs)
# Prints one JSON line a result, in the form of the peer benchmarks, and the rest to standard error.
# Builds tandemd and the clients in release mode, runs each scenario and size on a daemon and store
# of its own in a temporary folder, stops exactly what it started and removes the folder.
set -euo pipefail
cd "$(dirname "$0")"
scenario=${1:-all} only_n=${2:-}
log() { echo "benchmarks: $*" >&2; }
case $scenario in p1 | p2 | p3 | p4 | p5 | p6 | p7 | p8 | p6apart | cli | clients | freeze | load | recovery | memory | batch | flights | links | lookup | count | migrate | latency | sync | journal | all) ;; *)
    sed -n '2,29s/^# \{0,1\}//p' "${0##*/}" >&2
    exit 2
    ;;
esac

# With the flags of `make install`.
log "building (release; the first build takes minutes)"
swift build -c release -Xswiftc -enforce-exclusivity=unchecked --product tandemd --package-path ../.. --scratch-path .build/tandem >&2
swift build -c release --scratch-path .build/clients >&2
tandemd=$PWD/.build/tandem/release/tandemd bench=$PWD/.build/clients/release/tandembench

tmp=$(mktemp -d "${PEERS_TMP:-/tmp}/tandem-bench.XXXXXX")
if [[ $(stat -f -c %T "$tmp") == tmpfs ]]; then
    log "warning: $tmp is on a tmpfs; durable saves mean nothing there"
fi
daemon='' client=''
stop() {
    [[ -z $1 ]] || ! kill "$1" 2>/dev/null || wait "$1" 2>/dev/null || true
}
stop_all() {
    stop "$client"
    stop "$daemon"
    rm -rf "$tmp"
}
trap stop_all EXIT
trap 'exit 130' INT TERM

# serve FOLDER: starts a daemon on a new store and waits until its socket is there.
serve() {
    rm -f "$1/sock"
    "${pinned[@]}" "$tandemd" --store "$1/store" --socket "$1/sock" "${options[@]}" 2>"$1/log" &
    daemon=$!
    # A daemon that has much to recover listens late.
    for _ in {1..2400}; do
        [[ ! -S $1/sock ]] || return 0
        kill -0 "$daemon" 2>/dev/null || break
        sleep 0.05
    done
    log "tandemd did not start"
    cat "$1/log" >&2
    exit 1
}

failed=0 runs=0 pinned=() options=()
# one SCENARIO N [MORE]: on a fresh store, removed at once.
one() {
    local folder=$tmp/run$((++runs))
    mkdir "$folder"
    serve "$folder"
    "${pinned[@]}" timeout "${longest:-300}" "$bench" "$1" "$2" "$folder/sock" "$folder" "${@:3}" &
    client=$!
    if ! wait "$client"; then
        log "$1 n=$2 failed"
        tail -n 20 "$folder/log" >&2
        failed=1
    fi
    client=''
    stop "$daemon"
    daemon=''
    rm -rf "$folder"
}
# recover N KIND: a daemon that has to apply half a million changes when it starts.
recover() {
    local n=$1 kind=$2 folder=$tmp/run$((++runs)) begin
    mkdir "$folder"
    serve "$folder"
    "$bench" recovery-seed "$n" "$folder/sock" "$folder" "$kind"
    stop "$daemon"
    cp -r "$folder/store/store" "$folder/behind"
    serve "$folder"
    "$bench" recovery-fill "$n" "$folder/sock" "$folder" "$kind"
    kill -KILL "$daemon"
    wait "$daemon" 2>/dev/null || true
    rm -r "$folder/store/store"
    mv "$folder/behind" "$folder/store/store"
    begin=$(date +%s%N)
    serve "$folder"
    "$bench" recovery-report "$n" "$folder/sock" "$folder" "$kind" \
        "$((($(date +%s%N) - begin) / 1000000))"
    stop "$daemon"
    daemon=''
    rm -rf "$folder"
}
sizes() { if [[ -n $only_n ]]; then echo "$only_n"; else echo "$@"; fi; }
# alone SCENARIO N: what needs no daemon.
alone() {
    mkdir -p "$tmp/alone"
    timeout 300 "$bench" "$1" "$2" - "$tmp/alone" || failed=1
}
sync() { alone sync "$(sizes 300)"; }
journal() { alone journal "$(sizes 1024)"; }
# median NAME N COMMAND…: how long a command takes, and which processor time; eleven runs.
median() {
    local name=$1 n=$2 begin i times=()
    shift 2
    for i in {1..11}; do
        begin=$EPOCHREALTIME
        "$@" >/dev/null || failed=1
        times+=($((${EPOCHREALTIME/./} - ${begin/./})))
    done
    mapfile -t times < <(printf '%s\n' "${times[@]}" | sort -n)
    printf '{"scenario":"cli","peer":"tandem","n":%s,"metric":"%s","median_us":%s,"min_us":%s,"max_us":%s}\n' \
        "$n" "$name" "${times[5]}" "${times[0]}" "${times[10]}"
}
# rate NAME N COMMAND…: so many transactions in how long, and the most memory of the command.
rate() {
    local name=$1 n=$2 begin end
    shift 2
    begin=$EPOCHREALTIME
    "$@" >/dev/null || failed=1
    end=$EPOCHREALTIME
    awk -v n="$n" -v name="$name" -v us="$((${end/./} - ${begin/./}))" 'BEGIN {
        printf "{\"scenario\":\"cli\",\"peer\":\"tandem\",\"n\":%d,\"metric\":\"%s\",\"transactions_per_second\":%d}\n",
            n, name, n / us * 1000000 }'
}
# indexed FOLDER: waits until the daemon has made the indexes of all sealed segments, and says how long that took, how many they
# are, and what they take beside their segments.
indexed() {
    local begin=$EPOCHREALTIME journal=$1/store/journal
    until "$tandem" status -o json --socket "$1/sock" | grep -qE '"journalIndexes": ?\{[^}]*"waiting": ?0'; do sleep 0.05; done
    printf '{"scenario":"cli","peer":"tandem","metric":"indexes","count":%s,"waited_us":%s,"index_bytes":%s,"journal_bytes":%s}\n' \
        "$(ls "$journal" | grep -c '\.index$')" "$((${EPOCHREALTIME/./} - ${begin/./}))" \
        "$(cat "$journal"/*.index | wc -c)" "$(cat "$journal"/*.journal | wc -c)"
}
# What is asked about the past of few among many: by entity, by object, who set it.
past() {
    local suffix=$1 n=$2
    shift 2
    median "log_of_rare_entity$suffix" "$n" "$tandem" log -E Rare -S @1790000000 "$@"
    median "log_of_object$suffix" "$n" "$tandem" log -O Team/2003 "$@"
    median "blame$suffix" "$n" "$tandem" blame Team/2003 "$@"
}
# The flights by the tool, each time into a new store: rows a second of the whole command.
flights() {
    local run folder begin rows=336776 tandem=$PWD/.build/tandem/release/tandem
    local data=${FLIGHTS:-../../../shared/data/nycflights13} maps=../ProcessTests/Flights
    swift build -c release -Xswiftc -enforce-exclusivity=unchecked --product tandem --package-path ../.. --scratch-path .build/tandem >&2
    for ((run = 1; run <= $(sizes 5); run++)); do
        folder=$tmp/run$((++runs))
        mkdir -p "$folder"
        serve "$folder"
        "$tandem" schema apply "$maps/model.json" --socket "$folder/sock" >&2
        begin=$EPOCHREALTIME
        "$tandem" import "$data" --map "$maps/map.json" --rejects "$folder/rejects" --socket "$folder/sock" >&2 || failed=1
        awk -v run="$run" -v n=$rows -v us="$((${EPOCHREALTIME/./} - ${begin/./}))" 'BEGIN {
            printf "{\"scenario\":\"flights\",\"peer\":\"tandem\",\"n\":%d,\"metric\":\"import\",\"run\":%d,\"ms\":%d,\"rows_per_second\":%d}\n",
                n, run, us / 1000, n / us * 1000000 }'
        [[ $("$tandem" count Flight --socket "$folder/sock") == "$rows" ]] || failed=1
        stop "$daemon"
        daemon=''
        rm -rf "$folder"
    done
}
# rows METRIC COUNT FILE COMMAND…: rows a second of a command, whose output goes to a file.
rows() {
    local metric=$1 count=$2 file=$3 begin
    shift 3
    begin=$EPOCHREALTIME
    "$@" >"$file" || failed=1
    awk -v metric="$metric" -v n="$count" -v us="$((${EPOCHREALTIME/./} - ${begin/./}))" 'BEGIN {
        printf "{\"scenario\":\"links\",\"peer\":\"tandem\",\"n\":%d,\"metric\":\"%s\",\"ms\":%d,\"rows_per_second\":%d}\n",
            n, metric, us / 1000, n / us * 1000000 }'
}
# linked FOLDER COUNT PEOPLE: ends the daemon of a folder, after a check of its objects and links.
linked() {
    local at=(--socket "$1/sock") without="label BEGINSWITH 'Person' AND boss = nil"
    [[ $("$tandem" export "${at[@]}" | grep -cv '"label":"other') == "$2" ]] || failed=1
    [[ $("$tandem" count Person --where "label BEGINSWITH 'Person'" "${at[@]}") == "$3" ]] || failed=1
    [[ $("$tandem" count Person --where "$without" "${at[@]}") == 0 ]] || failed=1
    stop "$daemon"
    daemon=''
}
# Linked rows by the tool: an import of rows in random order, an export, and imports of that into an empty store and into one
# with as many other objects.
links() {
    local n folder kind count tandem=$PWD/.build/tandem/release/tandem
    swift build -c release -Xswiftc -enforce-exclusivity=unchecked --product tandem --package-path ../.. --scratch-path .build/tandem >&2
    for n in $(sizes 180000); do
        folder=$tmp/run$((++runs))
        mkdir -p "$folder"/{first,empty,filled}
        "$bench" made-links "$n" - "$folder"
        count=$(wc -l <"$folder/rows.ndjson")
        serve "$folder/first"
        "$tandem" schema apply "$folder/model.json" --socket "$folder/first/sock" >&2
        rows import "$count" /dev/null "$tandem" import "$folder/rows.ndjson" --socket "$folder/first/sock"
        rows export "$count" "$folder/export.ndjson" "$tandem" export --socket "$folder/first/sock"
        linked "$folder/first" "$count" "$n"
        for kind in empty filled; do
            serve "$folder/$kind"
            "$tandem" schema apply "$folder/model.json" --socket "$folder/$kind/sock" >&2
            [[ $kind == empty ]] || "$tandem" import "$folder/others.ndjson" --socket "$folder/$kind/sock" >&2
            rows "import_into_$kind" "$count" /dev/null "$tandem" import "$folder/export.ndjson" --socket "$folder/$kind/sock"
            linked "$folder/$kind" "$count" "$n"
        done
        rm -rf "$folder"
    done
}
# The tool over a journal of a GiB (n of a KiB each) and one of n small transactions, with and without a daemon.
cli() {
    local n folder tandem=$PWD/.build/tandem/release/tandem
    swift build -c release -Xswiftc -enforce-exclusivity=unchecked --product tandem --package-path ../.. --scratch-path .build/tandem >&2
    for n in $(sizes 1000000); do
        for bytes in 800 60; do
            folder=$tmp/run$((++runs))
            mkdir -p "$folder/store"
            "$bench" made-journal "$n" - "$folder/store" "$bytes"
            [[ $bytes == 60 ]] || median "version" "$n" "$tandem" --version
            "$tandem" rebuild -D "$folder/store" >&2
            serve "$folder"
            local online=(--socket "$folder/sock") offline=(-D "$folder/store")
            median "last_20_of_$bytes" "$n" "$tandem" log -n 20 "${online[@]}"
            median "last_20_of_${bytes}_offline" "$n" "$tandem" log -n 20 "${offline[@]}"
            rate "json_of_$bytes" "$n" "$tandem" log -o json "${online[@]}"
            rate "json_of_${bytes}_offline" "$n" "$tandem" log -o json "${offline[@]}"
            indexed "$folder"
            past "_of_$bytes" "$n" "${online[@]}"
            past "_of_${bytes}_offline" "$n" "${offline[@]}"
            # The same where everything has to be read.
            rm "$folder"/store/journal/*.index
            past "_of_${bytes}_offline_unindexed" "$n" "${offline[@]}"
            past "_of_${bytes}_unindexed" "$n" "${online[@]}"
            stop "$daemon"
            daemon=''
            rm -rf "$folder"
        done
    done
}
p1() { for n in $(sizes 10000); do one p1 "$n"; done; }
p2() { for n in $(sizes 10000); do one p2 "$n"; done; }
load() {
    for n in $(sizes 10000); do
        one load "$n" 16 1 10
        one load "$n" 1 100 10
        one load "$n" 16 100 10
    done
}
# Everyone is a connection of its own.
p6() { ulimit -n 8192; for n in $(sizes 64 256); do one p6 "$n"; done; }
p6apart() {
    pinned=(taskset -c 0)
    export TANDEMBENCH_SUBSCRIBERS_CORE=1
    p6
}
clients() { ulimit -n 8192; for n in $(sizes 1000); do one clients "$n"; done; }
memory() { for n in $(sizes 10000); do longest=900 one memory "$n"; done; }
batch() { for n in $(sizes 100000); do one batch "$n"; done; }
lookup() { for n in $(sizes 100000); do one lookup "$n"; done; }
count() { for n in $(sizes 1000000); do one count "$n"; done; }
migrate() { for n in $(sizes 1000000); do one migrate "$n"; done; }
recovery() {
    for n in $(sizes 100000); do
        recover "$n" unindexed
        recover "$n" indexed
    done
}
p4() {
    for n in $(sizes 1000 10000 100000); do
        alone p4 "$n"
        one p4-controller "$n"
    done
}
p5() { for n in $(sizes 1000 10000 100000); do one p5 "$n"; done; }
p7() { for n in $(sizes 100000); do one p7 "$n"; done; }
# p8: concurrent readers, with one reader thread and with two; then as many processes that read LMDB and SQLite.
p8() {
    local n threads
    for n in $(sizes 100000); do
        for threads in 1 2; do
            log "reader threads: $threads"
            options=(--set "limits.readerThreads=$threads")
            one p8 "$n"
        done
        alone p8-peers "$n"
    done
    options=()
}
# latency: p1 and p3, traced; prints each stage of a save.
latency() {
    local folder trace scenario kind n=$(sizes 10000)
    perf trace record -o "$tmp/try" true >/dev/null 2>&1 || { log "latency needs root and perf (Debian: linux-perf)"; exit 2; }
    for scenario in p1 p3; do
        folder=$tmp/run$((++runs))
        mkdir "$folder"
        serve "$folder"
        perf trace record -p "$daemon" -o "$folder/daemon" >&2 &
        trace=$!
        # A save before perf has begun is left out.
        until [[ -e $folder/daemon ]]; do sleep 0.05; done
        perf trace record -o "$folder/clients" -- timeout 300 "$bench" "$scenario" "$n" "$folder/sock" "$folder" || failed=1
        kill -INT "$trace"
        wait "$trace" || true
        for kind in daemon clients; do perf trace -T -i "$folder/$kind" -o "$folder/$kind.trace"; done
        python3 latency.py "$scenario" "$folder"/{daemon,clients}.trace || failed=1
        stop "$daemon"
        daemon=''
        rm -rf "$folder"
    done
}
freeze() { one freeze "$(sizes 15)"; }
p3() { for n in $(sizes 1000 10000 100000); do one p3 "$n"; done; }

if [[ $scenario == all ]]; then
    p1
    p2
    p3
    p4
    p5
    p6
    p7
    p8
else
    "$scenario"
fi
exit "$failed"
