import Glibc
import TandemIO

/// A daemon with small segments and little history, and its successors after restarts.
final class SoakDaemon: Sendable {
    static let segmentBytes = 128 << 10
    static let capBytes = 2 << 20
    /// The daemon's options: 1 MiB of journal is kept, at most 2 MiB for lagging readers.
    ///
    /// The ring is smaller than these limits. Otherwise a lagging reader would still receive
    /// transactions that the journal no longer has.
    private static let options = [
        "--segment-kibibytes", "\(segmentBytes >> 10)", "--journal-keep", "1",
        "--journal-cap", "\(capBytes >> 20)", "--set", "limits.ringBytes=\(segmentBytes)",
    ]

    private let place: Place
    private let running: Locked<DaemonProcess>
    private let restarts = Locked(0)

    init(_ place: Place) throws {
        self.place = place
        running = Locked(try Self.start(place))
    }

    var processID: pid_t { running.withLock { $0.processID } }
    var restartCount: Int { restarts.withLock { $0 } }

    private static func start(_ place: Place) throws -> DaemonProcess {
        let daemon = try place.serve(options: options)
        // The log is read continuously, so that the daemon never waits for a reader.
        _ = try KernelThread.start(name: "log") { _ = daemon.readOutput() }
        return daemon
    }

    /// Ends the daemon by a signal and starts another one; throws if the exit code is unexpected.
    func restart(_ signal: Int32) throws {
        try end(signal)
        try begin()
        restarts.withLock { $0 += 1 }
    }

    /// Starts another daemon after the last one has ended.
    func begin() throws {
        let next = try Self.start(place)
        running.withLock { $0 = next }
    }

    /// Ends the daemon by a signal; throws if the exit code is unexpected.
    func end(_ signal: Int32) throws {
        let code = running.withLock { $0 }.end(signal)
        guard code == (signal == SIGKILL ? -SIGKILL : 0) else {
            throw FoldedList.Problem(description: "the daemon ends with \(code)")
        }
    }
}
