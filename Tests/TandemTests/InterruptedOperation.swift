import TandemWire
import Testing

@testable import Tandem

extension ManagedObjectContext {
    /// Runs an operation on the calling thread; calls `body` before the first matching answer is
    /// used.
    @discardableResult
    func interrupting<Output>(
        beforeUsing isWanted: (ClientMessage) -> Bool, _ body: () throws -> Void,
        _ operation: (DaemonCalls) async throws -> Output
    ) throws -> Output {
        var isDone = false
        func use(_ message: ClientMessage) throws {
            guard !isDone, isWanted(message) else { return }
            isDone = true
            try body()
        }
        let output = try withoutActuallyEscaping(use) { try blocking(willUseAnswer: $0, operation) }
        #expect(isDone)
        return output
    }
}
