import Synchronization
import Tandem
import TandemIO

/// Records the cursor of the last output that was written and flushed, for `--cursor-file` and
/// `--show-cursor`.
///
/// A signal that ends the process waits until the cursor of the last output is recorded, no matter
/// how long the disk takes. If the output's reader has stopped reading, the signal waits for about
/// a second, and the next run prints the interrupted line again.
final class CursorKeeper: Sendable {
    private enum Gate: UInt8, AtomicRepresentable {
        case open
        /// Output is being written, and its cursor is being recorded.
        case held
        /// The process is ending; no further output is begun.
        case closed
    }

    private static let (pause, attempts) = (UInt64(5_000_000), 200)
    private let file: String?
    private let isShown: Bool
    private let last = Locked<String?>(nil)
    private let gate = Atomic<Gate>(.open)
    /// The lock that is held while the file is replaced.
    private let recording = Locked(())

    /// Creates a keeper that records cursors in `file`, or only in memory if it is nil.
    ///
    /// If `isShown`, the last cursor is printed when a signal ends the process. Throws
    /// ``CommandFailure`` with the code for usage if the file can't be written.
    init(file: String?, isShown: Bool) throws {
        do {
            if let file { try RealFileSystem().checkReplaceable(file) }
        } catch {
            throw CommandFailure("\(error); name another file with --cursor-file", code: 2)
        }
        self.file = file
        self.isShown = isShown
    }

    /// Whether cursors have to be recorded.
    var isWanted: Bool { file != nil || isShown }

    /// Installs the signal handler; call this on the main thread, before any other thread is
    /// started.
    func watchSignals() throws {
        try mapped { try EndingSignals.handle { self.end() } }
    }

    /// Calls `write`, which writes and flushes output, and keeps the returned cursor, if any, in
    /// memory.
    ///
    /// The cursor is recorded in the file only if a signal ends the process.
    func remember(_ write: () throws -> String?) throws {
        try self.write(write, recording: false)
    }

    /// Calls `write` like ``remember(_:)``, and records the cursor in the file.
    func keep(_ write: () throws -> String?) throws {
        try self.write(write, recording: true)
    }

    private func write(_ write: () throws -> String?, recording isRecorded: Bool) throws {
        while !enter(.held) { KernelThread.sleep(nanoseconds: Self.pause) }
        // If a signal has closed the gate in the meantime, the gate stays closed.
        defer { _ = gate.compareExchange(expected: .held, desired: .open, ordering: .releasing) }
        guard let cursor = try write() else { return }
        // Set first: a signal during the write of the file has to record this cursor.
        last.withLock { $0 = cursor }
        if isRecorded { try record(cursor) }
    }

    private func record(_ cursor: String) throws {
        guard let file else { return }
        try recording.withLock { _ in
            try mapped {
                try RealFileSystem().replace(
                    file, with: Array((cursor + "\n").utf8), isFlushed: true)
            }
        }
    }

    private func enter(_ wanted: Gate) -> Bool {
        gate.compareExchange(
            expected: .open, desired: wanted, ordering: .acquiringAndReleasing
        ).exchanged
    }

    private func end() {
        var attempt = 0
        while attempt < Self.attempts, !enter(.closed) {
            KernelThread.sleep(nanoseconds: Self.pause)
            attempt += 1
        }
        gate.store(.closed, ordering: .releasing)
        guard let cursor = last.withLock({ $0 }) else { return }
        // The process ends by the signal even if the file can't be written.
        try? record(cursor)
        if isShown, attempt < Self.attempts { printLine("-- cursor: \(cursor)") }
    }
}
