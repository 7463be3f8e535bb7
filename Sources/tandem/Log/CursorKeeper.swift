import Synchronization
import Tandem
import TandemIO

/// The cursor of what was written and flushed, for `--cursor-file` and `--show-cursor`.
///
/// A signal that ends the process waits until what was just written is recorded as well. If the reader has stopped
/// reading, the signal waits for about a second; the line that was being written is then printed again by the next run.
final class CursorKeeper: Sendable {
    private enum Gate: UInt8, AtomicRepresentable {
        case open
        /// Something is being written and recorded.
        case held
        /// The process ends, and nothing is written any more.
        case closed
    }

    private static let (pause, attempts) = (UInt64(5_000_000), 200)
    private let file: String?
    private let isShown: Bool
    private let last = Locked<String?>(nil)
    private let gate = Atomic<Gate>(.open)

    /// Keeps cursors in a file, if there is one; `isShown` prints the last one when a signal ends the process.
    ///
    /// Throws ``CommandFailure`` with the code for usage if the file can't be written.
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

    /// Writes and flushes something, and remembers the cursor that `write` returns, if any; a signal records it.
    func remember(_ write: () throws -> String?) throws {
        while !enter(.held) { KernelThread.sleep(nanoseconds: Self.pause) }
        defer { gate.store(.open, ordering: .releasing) }
        guard let cursor = try write() else { return }
        last.withLock { $0 = cursor }
    }

    /// The same, and records it in the file.
    func keep(_ write: () throws -> String?) throws {
        try remember {
            let cursor = try write()
            if let cursor { try record(cursor) }
            return cursor
        }
    }

    private func record(_ cursor: String) throws {
        guard let file else { return }
        try mapped {
            try RealFileSystem().replace(
                file, with: Array((cursor + "\n").utf8), isFlushed: true)
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
        guard let cursor = last.withLock({ $0 }) else { return }
        // The process ends by the signal even if the file can't be written.
        try? record(cursor)
        if isShown, attempt < Self.attempts { printLine("-- cursor: \(cursor)") }
    }
}
