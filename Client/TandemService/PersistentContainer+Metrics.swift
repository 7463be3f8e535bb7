public import CoreMetrics
public import Tandem

extension PersistentContainer {
    /// Reports the durations and failures of the container's operations to the metrics backend of
    /// the app.
    ///
    /// Call it right after the container was created, and after `MetricsSystem.bootstrap`: contexts
    /// that exist already report nothing.
    ///
    ///     container.measure()
    ///
    /// | metric | type | dimensions |
    /// |---|---|---|
    /// | `tandem_operation_duration` | timer | `operation`: merge, fetch, fault, save |
    /// | `tandem_operation_failures` | counter | `operation`: also connect |
    ///
    /// `tandem metrics` prints the daemon's own metrics. Cost: for each operation, formatting it as
    /// for a log, and two calls of the backend.
    /// - Parameter factory: The backend; by default the one of `MetricsSystem`.
    public func measure(with factory: any MetricsFactory = MetricsSystem.factory) {
        let meters = Dictionary(
            uniqueKeysWithValues: OperationLog.Topic.allCases.map { topic in
                let dimensions = [("operation", topic.rawValue)]
                return (
                    topic,
                    (
                        duration: Timer(
                            label: "tandem_operation_duration", dimensions: dimensions,
                            factory: factory),
                        failures: Counter(
                            label: "tandem_operation_failures", dimensions: dimensions,
                            factory: factory)
                    )
                )
            })
        let receiver = OperationLog.Receiver(Set(OperationLog.Topic.allCases)) { entry in
            guard let meters = meters[entry.topic] else { return }
            if entry.isFailure { meters.failures.increment() }
            if entry.isUnthrownFailure { return }
            meters.duration.recordNanoseconds(Int64(clamping: entry.nanoseconds))
        }
        core.log.add(receiver)
    }
}
