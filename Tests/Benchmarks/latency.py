#!/usr/bin/env python3
"""latency.py SCENARIO TRACE...: the time of each stage of a save, from the system calls of `perf trace -T`.

SCENARIO is p1 or p3. The traces are those of a daemon, and of the processes of `tandembench`, which write and flush a
file of their own between two saves, to measure the disk. Prints one JSON line per stage, in order, with its time in
microseconds, and one for the total. The stages of a save follow each other without a gap, so the means add up.
"""
import bisect
import json
import re
import statistics
import sys

LINE = re.compile(
    r"\s*(?P<start>[0-9.]+) \(\s*(?P<ms>[0-9.]+) ms\):\s+(?P<name>\S+)/(?P<thread>\d+)\s+"
    r"(?:(?P<call>\w+)\((?P<arguments>.*)\)\s+= (?P<result>-?\d+)"
    r"|\.\.\. \[continued\]: (?P<continued>\w+)\(\)\)\s+= (?P<rest>-?\d+))")
BEGUN = re.compile(
    r"\s*(?P<start>[0-9.]+) \(\s*\):\s+(?P<name>\S+)/(?P<thread>\d+)\s+(?P<call>\w+)\((?P<arguments>.*)\)\s+\.\.\.")


class Call:
    """A system call; times are in milliseconds of one clock."""

    def __init__(self, start, milliseconds, thread, name, arguments, result):
        self.start, self.end = start, start + milliseconds
        self.thread, self.name, self.arguments, self.result = thread, name, arguments, result

    @property
    def file(self):
        """The first argument, a descriptor; without the path, which perf does not always know."""
        return self.arguments.split(",")[0].split("<")[0]


def read(path):
    """Returns the system calls of a trace."""
    calls, begun = [], {}
    with open(path, errors="replace") as lines:
        for line in lines:
            if found := LINE.match(line):
                arguments, name = found["arguments"], found["call"]
                if found["continued"]:
                    # The line of a call that was interrupted by others lacks its arguments.
                    name, arguments = begun.pop(found["thread"], (found["continued"], ""))
                calls.append(Call(
                    float(found["start"]), float(found["ms"]), found["thread"], name, arguments,
                    int(found["result"] or found["rest"])))
            elif found := BEGUN.match(line):
                begun[found["thread"]] = (found["call"], found["arguments"])
    return calls


class Save:
    """The system calls of one save: those from one flush of the benchmark's own file to the next write."""

    def __init__(self, calls, saver, begin):
        self.calls, self.saver, self.begin = calls, saver, begin

    def find(self, name, after, test):
        """Returns the first call of a name after a time that meets a condition; raises LookupError if there is none."""
        for call in self.calls:
            if call.name == name and call.start >= after and test(call):
                return call
        raise LookupError(name)

    def stages(self):
        """Returns the start of the save, and pairs of each stage's name and end."""
        # p3 sleeps before it saves.
        begin = max(
            [c.end for c in self.calls if c.name == "clock_nanosleep" and c.thread == self.saver],
            default=self.begin)
        sent = self.find("sendto", begin, lambda c: c.thread == self.saver)
        received = self.find(
            "recvfrom", sent.start, lambda c: c.thread != self.saver and c.result == sent.result)
        daemon = received.thread
        write = self.find("pwrite64", received.end, lambda c: c.thread == daemon)
        flush = self.find(
            "fdatasync", write.end, lambda c: c.thread == daemon and c.file == write.file)
        # p1: the answer; p3: the push, which is sent before the answer.
        output = self.find("sendto", flush.end, lambda c: c.thread == daemon)
        return begin, [
            ("client: make the change and encode the save", sent.start),
            ("socket to the daemon", received.start),
            ("daemon: decode and plan the save, encode the transaction", write.start),
            ("journal: write", write.end),
            ("journal: flush", flush.end),
            ("daemon: apply the transaction, encode the output", output.start),
        ] + (self.to_reader(daemon, output) or self.to_saver(output))

    def to_saver(self, answer):
        """Returns the stages of p1 after the daemon answers."""
        got = self.find("recvfrom", self.begin, lambda c: c.thread == self.saver and c.end > answer.start)
        return [("socket to the client", got.end), ("client: complete the save", self.calls[-1].start)]

    def to_reader(self, daemon, push):
        """Returns the stages of p3 after the daemon pushes, or None if no other process reads."""
        shown = [c for c in self.calls if c.name == "write" and c.result == 16 and c.file == "fd: 1"]
        if not shown:
            return None
        got = self.find(
            "recvfrom", push.start, lambda c: c.thread not in (daemon, self.saver) and c.result > 0)
        woken = [c.end for c in self.calls if c.name == "futex" and c.thread == shown[0].thread and c.end > got.end]
        return [
            ("socket to the reader", got.start),
            ("reader: decode the push, wake the list's actor", woken[0]),
            ("reader: merge, update the list, call the delegate", shown[0].start),
        ]


def saves(calls):
    """Returns the saves of a benchmark."""
    # The file is written as a whole at first, and in records of 256 bytes then.
    files = {(c.thread, c.file) for c in calls if c.name == "pwrite64" and c.result == 4 << 20}
    floor = [
        c for c in calls
        if (c.thread, c.file) in files and (c.name == "fdatasync" or c.name == "pwrite64" and c.result == 256)]
    starts = [c.start for c in calls]
    for flush, write in zip(floor, floor[1:]):
        if (flush.name, write.name) == ("fdatasync", "pwrite64"):
            # Calls that began earlier, such as those that wait, may end during the save.
            first = bisect.bisect_left(starts, flush.start - 100)
            last = bisect.bisect_right(starts, write.start)
            kept = [c for c in calls[first:last] if c.end >= flush.end]
            yield Save(kept, flush.thread, flush.end)


def main(scenario, paths):
    calls = sorted((c for path in paths for c in read(path)), key=lambda c: c.start)
    times = {}
    for save in saves(calls):
        try:
            begin, stages = save.stages()
        except (LookupError, IndexError):
            # The saves at the start and the end of a pass, during which other requests run.
            continue
        at = begin
        for name, end in stages:
            times.setdefault(name, []).append((end - at) * 1000)
            at = end
        times.setdefault("total", []).append((at - begin) * 1000)
    if not times:
        sys.exit(f"latency.py: no save of {scenario} is in the traces {', '.join(paths)}")
    for name, values in times.items():
        print(json.dumps({
            "scenario": "latency", "peer": "tandem", "metric": scenario, "stage": name,
            "p50": round(statistics.median(values), 1), "mean": round(statistics.mean(values), 1),
            "unit": "us", "samples": len(values)}, separators=(",", ":")))


if len(sys.argv) < 3:
    sys.exit(__doc__)
main(sys.argv[1], sys.argv[2:])
