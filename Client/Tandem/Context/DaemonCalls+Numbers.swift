import TandemModel
import TandemQuery
import TandemWire

extension DaemonCalls {
    /// Leases numbers for new objects.
    func leaseNumbers() async throws {
        _ = try await answer(to: .lease(count: connection.leaseCount)) {
            if case .lease = $0 { true } else { nil }
        }
    }
}
