import Glibc
import TandemIO
import TandemModel
import TandemWire

/// An import that was killed before one of its messages reached the daemon.
struct KilledImport {
    /// The number of its counted messages, including the last one.
    let messages: Int
    /// Whether the import was killed; false if it ended with fewer messages.
    let isKilled: Bool

    /// Runs `tandem import` through a relay, and kills it before message `number` reaches the
    /// daemon, which receives the message if `isForwarded` is true.
    ///
    /// Only messages that satisfy `isCounted` are counted.
    init(
        _ arguments: [String], relay: RefusingRelay, before number: Int, isForwarded: Bool,
        counting isCounted: @escaping @Sendable (ClientMessage) -> Bool = { _ in true }
    ) throws {
        let (messages, child) = (Locked(0), Locked<ChildProcess?>(nil))
        relay.beforeForwarding { message in
            guard isCounted(message) else { return }
            let isDue = messages.withLock {
                $0 += 1
                return $0 == number
            }
            guard isDue else { return }
            // The first message may come before `start` has returned.
            while child.withLock({ $0 == nil }) { KernelThread.sleep(nanoseconds: 1_000_000) }
            child.withLock { $0?.kill() }
            if !isForwarded { throw TandemError(.disconnected, "the import was killed") }
        }
        let started = try ChildProcess.start(
            DaemonProcess.products + "/tandem",
            ["import"] + arguments + ["--socket", relay.path], output: .null)
        child.withLock { $0 = started }
        isKilled = started.wait() == .signalled(SIGKILL)
        self.messages = messages.withLock { $0 }
    }
}
