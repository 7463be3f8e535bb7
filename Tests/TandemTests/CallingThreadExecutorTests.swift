import Testing

@testable import Tandem

/// An actor whose state is read by blocking operations.
private actor Worker {
    var jobs = 0

    func work() throws -> Int {
        jobs += 1
        return try readJobs(of: self)
    }
}

/// Reads a worker's state during a blocking operation, as a delegate of its lists would.
private func readJobs(of worker: Worker) throws -> Int {
    func jobs() -> Int { worker.assumeIsolated { $0.jobs } }
    return try CallingThreadExecutor.run(isolatedTo: worker) { jobs() }
}

/// Awaits a function that does not suspend, several times.
private func sum(_ numbers: ClosedRange<Int>) async throws -> Int {
    var sum = 0
    for number in numbers { sum += await identity(number) }
    return sum
}

private func identity(_ number: Int) async -> Int { number }

private struct Refusal: Error, Equatable {}

/// The blocking form of async functions.
@Suite(.ownThread) @MainActor struct CallingThreadExecutorTests {
    @Test func `a function runs to its end, whatever it awaits`() throws {
        let found = try CallingThreadExecutor.run(isolatedTo: MainActor.shared) {
            try await sum(1...100)
        }
        #expect(found == 5_050)
    }

    @Test func `an error is rethrown`() {
        #expect(throws: Refusal()) {
            try CallingThreadExecutor.run(isolatedTo: MainActor.shared) { throw Refusal() }
        }
    }

    @Test func `a function may make another blocking call`() throws {
        let found = try CallingThreadExecutor.run(isolatedTo: MainActor.shared) {
            let inner = try CallingThreadExecutor.run(isolatedTo: MainActor.shared) {
                try await sum(1...3)
            }
            return inner + (try await sum(4...5))
        }
        #expect(found == 15)
    }

    @Test func `called code may assume the isolation of the context's actor`() async throws {
        let worker = Worker()
        #expect(try await worker.work() == 1)
        #expect(try await worker.work() == 2)
    }

    @Test func `a function that suspends traps with a message`() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            try await MainActor.run {
                try CallingThreadExecutor.run(isolatedTo: MainActor.shared) {
                    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
                }
            }
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("must not suspend in its blocking form"))
    }
}
