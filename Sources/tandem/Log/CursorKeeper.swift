import Synchronization
import Tandem
import TandemIO

/// The cursor of the output that was written and flushed, for `--cursor-file` and `--show-cursor`.
///
/// A signal that ends the process waits until the cursor of the last output is also recorded, no
/// matter how long the disk takes. If the reader has stopped reading, the signal waits for about a
/// second; the next run then prints the interrupted line again.
final class CursorKeeper: Sendable {
    private enum Gate: UInt8, AtomicRepresentable {
        case open
        /// Output is being written and its cursor recorded.
        case held
        /// The process ends; after the output that is being written, nothing more is written.
        case closed
    }

    private static let (pause, attempts) = (UInt64(5_000_000), 200)
    private let file: String?
    private let isShown: Bool
    private let last = Locked<String?>(nil)
    private let gate = Atomic<Gate>(.open)
    /// Held while the file is replaced.
    private let recording = Locked(())

    /// Creates a keeper that records cursors in a file, if one is given.
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

    /// Whether the cursor is needed at all.
    var isWanted: Bool { file != nil || isShown }

    /// Handles signals; call it on the main thread, before any other thread is started.
    func watchSignals() throws {
        try mapped { try EndingSignals.handle { self.end() } }
    }

    /// Calls `write`, which writes and flushes output, and remembers the cursor it returns, if any.
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
        // A gate that was closed meanwhile stays closed.
        defer { _ = gate.compareExchange(expected: .held, desired: .open, ordering: .releasing) }
        guard let cursor = try write() else { return }
        // A signal during the record, which a busy disk delays, has to record this cursor too.
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
