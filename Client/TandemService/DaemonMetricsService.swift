public import CoreMetrics
public import ServiceLifecycle
public import Tandem

/// A service that reports the daemon's metrics to the app's metrics backend at regular intervals.
///
/// Use it in a program that embeds the daemon, or in the one program of a machine that exports the
/// daemon's metrics; `tandem metrics` prints the same metrics for Prometheus.
///
///     let metrics = DaemonMetricsService(of: container, every: .seconds(15))
///     try await ServiceGroup(services: [metrics, mailer], logger: logger).run()
///
/// The page `Observability.md` of TandemDaemon lists the metrics. Their labels become dimensions. A
/// histogram is reported as two counters: the number of durations (`_count`), and their sum in
/// seconds (`_sum`). While no daemon answers, `tandem_up` is 0 and other metrics keep their values.
///
/// Cost per interval: one request for the daemon's status, and one call to the backend per sample.
public struct DaemonMetricsService: Service {
    private let container: PersistentContainer
    private let interval: Duration
    private let factory: any MetricsFactory

    /// Creates a service; call this after `MetricsSystem.bootstrap`.
    /// - Parameters:
    ///   - container: The container whose daemon is observed.
    ///   - interval: The time between two reports.
    ///   - factory: The backend; by default, that of `MetricsSystem`.
    public init(
        of container: PersistentContainer, every interval: Duration = .seconds(15),
        factory: any MetricsFactory = MetricsSystem.factory
    ) {
        (self.container, self.interval, self.factory) = (container, interval, factory)
    }

    /// Reports metrics until the group shuts down.
    ///
    /// Throws the errors of `PersistentContainer.status()`, except `disconnected` and `timeout`.
    public func run() async throws {
        try await cancelWhenGracefulShutdown {
            var reporter = MetricsReporter(factory)
            repeat {
                reporter.report(try await current())
            } while (try? await Task.sleep(for: interval)) != nil
        }
    }

    /// Returns the daemon's metrics now.
    private func current() async throws -> DaemonMetrics {
        do {
            return try DaemonMetrics(status: await container.status())
        } catch let error as TandemError where [.disconnected, .timeout].contains(error.code) {
            return .down
        }
    }
}

/// Reports successive metrics of a daemon to a backend.
package struct MetricsReporter {
    private struct Key: Hashable {
        let name: String
        let labels: [String]

        init(_ name: String, _ labels: DaemonMetrics.Labels) {
            self.name = name
            self.labels = labels.flatMap { [$0.name, $0.value] }
        }
    }

    private let factory: any MetricsFactory
    private var gauges: [Key: Gauge] = [:]
    private var counters: [Key: (counter: FloatingPointCounter, last: Double)] = [:]

    /// Creates a reporter that has not reported anything.
    package init(_ factory: any MetricsFactory) { self.factory = factory }

    /// Reports the metrics; removes gauges of clients and consumers that no longer exist.
    package mutating func report(_ metrics: DaemonMetrics) {
        var unused = gauges
        for family in metrics.families {
            switch family.content {
            case .gauges(let samples):
                for sample in samples {
                    let key = Key(family.name, sample.labels)
                    unused[key] = nil
                    report(sample.value, key, sample.labels)
                }
            case .counters(let samples):
                for sample in samples { count(to: sample.value, family.name, sample.labels) }
            case .histogram(let histogram):
                count(to: histogram.count, family.name + "_count", [])
                count(to: histogram.sum, family.name + "_sum", [])
            }
        }
        // A daemon that does not answer still has its clients.
        guard metrics.isUp else { return }
        for (key, gauge) in unused {
            gauge.destroy()
            gauges[key] = nil
        }
    }

    private mutating func report(_ value: Double, _ key: Key, _ labels: DaemonMetrics.Labels) {
        let dimensions = labels.map { ($0.name, $0.value) }
        let gauge =
            gauges[key] ?? Gauge(label: key.name, dimensions: dimensions, factory: factory)
        gauges[key] = gauge
        gauge.record(value)
    }

    /// Increments a counter to the daemon's count; after a restart, the daemon counts from zero.
    private mutating func count(
        to value: Double, _ name: String, _ labels: DaemonMetrics.Labels
    ) {
        let key = Key(name, labels)
        let (counter, last) =
            counters[key]
            ?? (
                FloatingPointCounter(
                    label: name, dimensions: labels.map { ($0.name, $0.value) }, factory: factory),
                0
            )
        counter.increment(by: value < last ? value : value - last)
        counters[key] = (counter, value)
    }
}
