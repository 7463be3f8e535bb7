import Glibc
import Testing

@testable import TandemIO

@Suite(.ownThread) struct SpinPolicyTests {
    private func policy(cores: Int = 2) -> SpinPolicy {
        SpinPolicy(longestNanoseconds: 100, cores: cores)
    }

    /// Returns how many of `waits` waits of this length spin.
    private func spins(of waits: Int, _ nanoseconds: UInt64, _ policy: inout SpinPolicy) -> Int {
        (0..<waits).count { _ in
            defer { policy.waited(nanoseconds: nanoseconds) }
            return policy.budget > 0
        }
    }

    @Test func `a thread spins as long as its waits are short`() {
        var policy = policy()
        #expect(policy.budget == 100)
        #expect(spins(of: 1_000, 100, &policy) == 1_000)
    }

    @Test func `unsuccessful spins are followed by more and more sleeping waits, up to a bound`() {
        var policy = policy()
        var pauses: [Int] = []
        for _ in 0..<9 {
            policy.waited(nanoseconds: 101)
            var pause = 0
            while policy.budget == 0 {
                policy.waited(nanoseconds: 101)
                pause += 1
            }
            pauses.append(pause)
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 64, 64])
        #expect(SpinPolicy.mostPaused == 64)
    }

    @Test func `a thread with long waits hardly ever spins`() {
        var policy = policy()
        let count = spins(of: 65 * 1_000, 1_000_000, &policy)
        #expect(count < 1_010, "\(count)")
    }

    @Test func `a short sleeping wait does not end a pause, a successful spin does`() {
        var policy = policy()
        for _ in 0..<3 {
            while policy.budget == 0 { policy.waited(nanoseconds: 1) }
            policy.waited(nanoseconds: 101)
        }
        // The next four waits sleep, however short they are.
        #expect(spins(of: 4, 1, &policy) == 0)
        #expect(spins(of: 1, 1, &policy) == 1)
        // After another unsuccessful spin, one wait sleeps again.
        #expect(spins(of: 1, 101, &policy) == 1)
        #expect(spins(of: 2, 1, &policy) == 1)
    }

    @Test func `with one core a thread never spins`() {
        var policy = policy(cores: 1)
        #expect(spins(of: 1_000, 1, &policy) == 0)
        #expect(ThisProcess.cores >= 1)
    }

    // MARK: Reading with spinning

    private func readOnce(_ socket: Socket, _ nanoseconds: UInt64) throws -> ReadResult {
        try withUnsafeTemporaryAllocation(byteCount: 8, alignment: 1) {
            try socket.read(into: $0, spinningFor: nanoseconds)
        }
    }

    @Test func `a spinning read finds available bytes, and a closed connection`() throws {
        let (mine, its) = try Socket.pair()
        try its.writeAll([1, 2, 3])
        // It polls once even if there is no time to spin.
        #expect(try readOnce(mine, 0) == .bytes(3))
        #expect(try readOnce(mine, 0) == .wouldBlock)
        its.shutdown()
        #expect(try readOnce(mine, 1_000_000_000) == .closed)
    }

    @Test func `a spinning read finds bytes that arrive meanwhile, and stops in the end`() throws {
        let (mine, its) = try Socket.pair()
        let thread = try KernelThread.start(name: "writer") { try? its.writeAll([7]) }
        #expect(try readOnce(mine, 60_000_000_000) == .bytes(1))
        thread.join()
        #expect(try readOnce(mine, 10_000) == .wouldBlock)
    }
}
