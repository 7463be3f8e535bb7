import Synchronization
import Tandem
import TandemIO

/// Polls a daemon's status on a separate thread, so that a hung daemon blocks only that thread.
final class StatusFeed: Sendable {
    private let latest: Locked<Result<StatusSample, any Error>>

    /// Requests the status at once and again after each pause; throws the error of the first
    /// request.
    init(_ container: PersistentContainer, pause nanoseconds: UInt64) throws {
        latest = Locked(.success(try Self.ask(container)))
        _ = try KernelThread.start(name: "status") { [weak self] in
            KernelThread.sleep(nanoseconds: nanoseconds)
            while let self, self.refresh(container) {
                KernelThread.sleep(nanoseconds: nanoseconds)
            }
        }
    }

    /// Returns the newest status; throws the error that ended the requests, if any.
    func sample() throws -> StatusSample { try latest.withLock { $0 }.get() }

    private func refresh(_ container: PersistentContainer) -> Bool {
        let answer = Result { try Self.ask(container) }
        latest.withLock { $0 = answer }
        if case .failure = answer { return false }
        return true
    }

    private static func ask(_ container: PersistentContainer) throws -> StatusSample {
        StatusSample(try JSON(parsing: try container.status()), SystemClock())
    }
}
