import TandemModel
import Testing

@testable import TandemDaemon

/// The newest transactions, in memory.
@Suite(.ownThread) struct TransactionRingTests {
    @Test func `a ring uses no more storage than it counts`() throws {
        var ring = TransactionRing()
        for position in UInt64(1)...50 {
            var transaction = Transaction(content: .objects([]))
            transaction.position = position
            transaction.principal.author = String(repeating: "a", count: Int(position) * 10)
            let encoded = EncodedTransaction(transaction)
            ring.append(encoded)
            let held = try #require(ring[position])
            #expect(held == encoded)
            // The allocator rounds up to 16 bytes, and never leaves a remainder of less than 32.
            #expect(held.bytes.capacity - held.bytes.count <= held.bytes.count / 8 + 32)
        }
        #expect(ring.count == 50)
    }

    @Test func `law 7: a ring releases transactions beyond its limits at once`() throws {
        var ring = TransactionRing(transactions: 10, bytes: 1 << 20)
        for position in UInt64(1)...12 {
            var transaction = Transaction(content: .objects([]))
            transaction.position = position
            ring.append(EncodedTransaction(transaction))
            #expect(ring.count == min(10, Int(position)))
        }
        #expect(ring.first == 3 && ring.count == 10 && ring[2] == nil && ring[12] != nil)
    }
}
