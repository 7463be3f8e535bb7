import Foundation
import Glibc
import Tandem
import TandemIO
import TestSupport
import Testing

/// The memory of `tandem log`, which does not grow with the journal.
///
/// This holds for both directions of the log, with a daemon and with a directory.
@Suite(.ownThread) struct LogMemoryTests {
    private static let small = 1_000
    private static let bytes = Volume.of(2_500, deep: 4_000)
    /// A journal and one of eight times its size, each with its store; the tests only read them.
    private static let journals = Result {
        try [small, 8 * small].map { count in
            let journal = try MadeJournal(transactions: count, bytes: bytes)
            try CommandRun("tandem", ["rebuild", "-D", journal.store]).check()
            return journal
        }
    }
    /// `F_SETPIPE_SZ`, which Swift's module of the C library lacks.
    private static let setPipeSize: CInt = 1_031

    private static let directions: [[String]] = [["-r"], ["-n", "3", "-t", "rare"]]
    private static let more: [[String]] = [["-n", "1000000"], [], ["-r", "-o", "short"]]

    @Test(arguments: directions + Volume.of([], deep: more))
    func `memory stays the same for a journal of eight times the size`(_ options: [String]) throws {
        let offline = try Self.journals.get().map { try Self.peak(["-D", $0.store] + options) }
        // The larger journal is 17 MB longer, or 28 MB in a deep run.
        #expect(offline[1] < offline[0] + (12 << 20), "\(offline)")
    }

    @Test(arguments: Volume.of([["-n", "1000000"]], deep: [["-n", "1000000"], ["-r"]]))
    func `memory stays the same for a daemon with eight times the journal`(
        _ options: [String]
    ) throws {
        let online = try Self.journals.get().map { journal in
            let socket = journal.place.socket
            let daemon = try DaemonProcess.serving(store: journal.store, socket: socket)
            defer { daemon.end(SIGTERM) }
            return try Self.peak(["--socket", socket] + options)
        }
        #expect(online[1] < online[0] + (12 << 20), "\(online)")
    }

    /// Returns the peak memory of a run in bytes, measured while its output is read.
    ///
    /// Runs again if the process ended before it was measured.
    private static func peak(_ options: [String]) throws -> Int {
        for _ in 0..<100 {
            let found = try look(options)
            if found > 0 { return found }
        }
        Issue.record("100 runs of \(options) ended before their memory was read")
        return 0
    }

    private static func look(_ options: [String]) throws -> Int {
        let child = try ChildProcess.start(
            DaemonProcess.products + "/tandem", ["log", "-o", "json"] + options, output: .pipe)
        let descriptor = try #require(child.output)
        // With a pipe of one page, the process can't end before all but the last page of its output
        // is read.
        _ = fcntl(descriptor, setPipeSize, 4_096)
        let output = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
        var (peak, chunks) = (0, 0)
        while true {
            let chunk = output.availableData
            // The kernel keeps the peak, so one measurement per 64 KiB is enough.
            if peak == 0 || chunks.isMultiple(of: 16), let size = highWater(child.processID) {
                peak = max(peak, size)
            }
            if chunk.isEmpty { break }
            chunks += 1
        }
        try #require(child.wait() == .exited(0))
        return peak
    }

    private static func highWater(_ process: pid_t) -> Int? {
        guard let status = FileManager.default.contents(atPath: "/proc/\(process)/status") else {
            return nil
        }
        let line = String(decoding: status, as: UTF8.self).split(separator: "\n")
            .first { $0.hasPrefix("VmHWM:") }
        return line.flatMap { Int($0.filter(\.isNumber)) }.map { $0 << 10 }
    }
}
