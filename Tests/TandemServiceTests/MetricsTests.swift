import CoreMetrics
import MetricsTestKit
import ServiceLifecycleTestKit
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

/// The daemon's metrics in a swift-metrics backend.
@Suite(.ownThread) struct DaemonMetricsTests {
    private let backend = TestMetrics()

    private func total(_ name: String) throws -> Int64 {
        try backend.expectCounter(name).totalValue
    }

    private func gauge(_ name: String, _ labels: [(String, String)] = []) throws -> Double? {
        try backend.expectGauge(name, labels).lastValue
    }

    private func metrics(_ status: String) throws -> DaemonMetrics {
        try DaemonMetrics(status: status)
    }

    @Test func `counters follow the daemon's, and gauges are its values`() async throws {
        let container = try PersistentContainer.inMemory(entities: [Item.self])
        try await container.save("tea")
        var reporter = MetricsReporter(backend)
        reporter.report(try metrics(await container.status()))
        let before = try total("tandem_transactions_total")
        let saves = try total("tandem_save_seconds_count")
        for title in ["cake", "milk"] { try await container.save(title) }
        reporter.report(try metrics(await container.status()))
        #expect(try total("tandem_transactions_total") == before + 2)
        #expect(try total("tandem_save_seconds_count") == saves + 2)
        let end = try await container.end().number
        #expect(try gauge("tandem_journal_last_position") == Double(end))
        #expect(try gauge("tandem_up") == 1)
    }

    @Test func `a restarted daemon counts from zero, and totals continue`() throws {
        var reporter = MetricsReporter(backend)
        for count in [5, 9, 2] { reporter.report(try metrics(#"{"transactions": \#(count)}"#)) }
        #expect(try total("tandem_transactions_total") == 11)
    }

    @Test func `gauges of a client end with it, except while no daemon answers`() throws {
        var reporter = MetricsReporter(backend)
        let labels = [("id", "7"), ("author", "scores"), ("uid", "1000")]
        reporter.report(
            try metrics(
                #"{"clients": [{"id": 7, "author": "scores", "uid": 1000, "lag": 3, "pins": 0}]}"#))
        #expect(try gauge("tandem_client_lag_positions", labels) == 3)
        reporter.report(.down)
        #expect(try gauge("tandem_up") == 0)
        #expect(try gauge("tandem_client_lag_positions", labels) == 3)
        reporter.report(try metrics(#"{"clients": []}"#))
        #expect(throws: (any Error).self) {
            _ = try gauge("tandem_client_lag_positions", labels)
        }
        #expect(try gauge("tandem_connections") == 0)
    }

    @Test func `a service reports until its group shuts down`() async throws {
        let container = try PersistentContainer.inMemory(entities: [Item.self])
        #expect(try await reportedUp(by: container) == 1)
    }

    @Test func `a daemon that does not answer is reported as down`() async throws {
        var limits = ClientLimits()
        limits.absentMilliseconds = 1
        let container = PersistentContainer(
            entities: [Item.self], socket: "/nonexistent/socket", limits: limits)
        #expect(try await reportedUp(by: container) == 0)
    }

    /// Runs a service until its first report; returns the value of `tandem_up`.
    private func reportedUp(by container: PersistentContainer) async throws -> Double? {
        let (reports, continuation) = AsyncStream<Void>.makeStream()
        let service = DaemonMetricsService(
            of: container, every: .seconds(3_600),
            factory: SignallingMetrics(backend: backend) { continuation.yield() })
        try await testGracefulShutdown { shutdown in
            async let run: Void = service.run()
            for await _ in reports { break }
            shutdown.triggerGracefulShutdown()
            try await run
        }
        return try gauge("tandem_up")
    }
}

/// A backend that reports the creation of a gauge.
private struct SignallingMetrics: MetricsFactory {
    let backend: TestMetrics
    let onRecorder: @Sendable () -> Void

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        backend.makeCounter(label: label, dimensions: dimensions)
    }

    func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        defer { onRecorder() }
        return backend.makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        backend.makeTimer(label: label, dimensions: dimensions)
    }

    func destroyCounter(_ handler: any CounterHandler) { backend.destroyCounter(handler) }

    func destroyRecorder(_ handler: any RecorderHandler) { backend.destroyRecorder(handler) }

    func destroyTimer(_ handler: any TimerHandler) { backend.destroyTimer(handler) }
}
