import Tandem
import TandemModel
import TandemWire
import Testing

@testable import Tandem

/// The cost of programs with few requests: few object numbers, and little time if there is no
/// daemon.
@Suite(.ownThread) struct SmallLeaseTests {
    @Test func `blocks of numbers double from few to thousands`() {
        var numbers = LeasedNumbers()
        var (next, counts): (UInt64, [UInt32]) = (1, [])
        for _ in 0..<9 {
            let count = numbers.nextCount
            counts.append(count)
            numbers.add(Lease(first: next, count: count, epoch: 1))
            next += UInt64(count)
            for left in stride(from: Int(count) - 1, through: 0, by: -1) {
                #expect(numbers.next() != nil)
                #expect(numbers.isLow == (left < Int(count) / 2))
            }
        }
        #expect(counts == [64, 128, 256, 512, 1_024, 2_048, 4_096, 4_096, 4_096])
        #expect(numbers.next() == nil)
    }

    @Test func `a welcome with thousands of numbers is followed by leases of thousands`() {
        var numbers = LeasedNumbers()
        numbers.add(Lease(first: 1, count: 4_096, epoch: 1))
        #expect(numbers.nextCount == 4_096)
        numbers.add(Lease(first: 1, count: .max, epoch: 2))
        #expect(numbers.nextCount == 4_096)
    }

    /// Without the limit the request would wait for an hour.
    @Test func `without a listener the first request fails as early as allowed`() {
        var limits = ClientLimits()
        limits.connectMilliseconds = 3_600_000
        limits.absentMilliseconds = 0
        let container = PersistentContainer(
            socket: "/nowhere/at/all", name: "default", author: "nobody", limits: limits)
        defer { container.close() }
        let error = #expect(throws: TandemError.self) { try container.status() }
        #expect(error?.code == .disconnected)
    }
}
