import CoreMetrics
import MetricsTestKit
import Tandem
import TandemEmbedded
import TandemService
import TestSupport
import Testing

/// Durations and failures of operations in a swift-metrics backend.
@Suite(.ownThread) struct MetricsTests {
    private let backend = TestMetrics()

    private func durations(_ operation: String) throws -> [Int64] {
        try backend.expectTimer("tandem_operation_duration", [("operation", operation)]).values
    }

    private func failures(_ operation: String) throws -> Int64 {
        try backend.expectCounter("tandem_operation_failures", [("operation", operation)])
            .totalValue
    }

    @Test func `each operation has a duration, and failures are counted`() async throws {
        let container = try PersistentContainer.inMemory(entities: [Item.self])
        container.measure(with: backend)
        try await container.save("tea")
        try await container.save("cake")
        await #expect(throws: TandemError.self) { try await container.save("") }
        #expect(try durations("save").count == 3)
        #expect(try durations("save").allSatisfy { $0 > 0 })
        #expect(try failures("save") == 1)
        _ = try await container.withContext { try await $0.fetch(Item.self).count }
        #expect(try durations("fetch").count == 1)
        #expect(try failures("fetch") == 0)
    }

    @Test func `a logger does not replace the metrics`() async throws {
        let container = try PersistentContainer.inMemory(entities: [Item.self])
        let output = LogLines(.debug)
        container.measure(with: backend)
        container.log(to: output.logger)
        try await container.save("tea")
        #expect(try durations("save").count == 1)
        #expect(await output.next("save") != nil)
    }

    @Test func `a refused connection is a failure without a duration`() async throws {
        var limits = ClientLimits()
        limits.absentMilliseconds = 1
        let container = PersistentContainer(
            entities: [Item.self], socket: "/nonexistent/socket", limits: limits)
        container.measure(with: backend)
        await #expect(throws: TandemError.self) { try await container.save("tea") }
        #expect(try failures("connect") > 0 && durations("connect").isEmpty)
    }
}
