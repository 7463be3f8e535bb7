import Tandem
import TandemIO

/// A relay to a daemon that loses every `period`-th answer, and the connection with it.
final class LossyRelay: Sendable {
    private let path: String
    /// The number of reads from the daemon per lost answer; 0 loses none.
    private let period: Int
    private let reads = Locked(0)

    init(_ path: String, period: Int) {
        self.path = path
        self.period = period
    }

    /// The number of lost answers.
    var losses: Int { period > 0 ? reads.withLock { $0 } / period : 0 }

    var transport: Transport {
        .connected { [self] in
            let daemon = try Socket.connect(path: path)
            let (near, far) = try Socket.pair()
            try carry(from: far, to: daemon) { false }
            try carry(from: daemon, to: far) { [self] in isLost() }
            return near
        }
    }

    private func isLost() -> Bool {
        reads.withLock { count in
            count += 1
            return period > 0 && count % period == 0
        }
    }

    /// Forwards bytes in one direction until either side closes the connection or an answer is
    /// lost.
    private func carry(
        from source: Socket, to target: Socket, losing isLost: @escaping @Sendable () -> Bool
    ) throws {
        _ = try KernelThread.start(name: "relay") {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while let count = try? buffer.withUnsafeMutableBytes({
                try source.readSome(into: $0)
            }), count > 0, !isLost() {
                guard (try? target.writeAll(Array(buffer[..<count]))) != nil else { break }
            }
            source.shutdown()
            target.shutdown()
        }
    }
}
