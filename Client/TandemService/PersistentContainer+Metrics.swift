public import CoreMetrics
public import Tandem

extension PersistentContainer {
    /// Reports the durations and failures of the container's operations to the app's metrics
    /// backend.
    ///
    /// Call this after `MetricsSystem.bootstrap`, right after creating the container: contexts that
    /// already exist report nothing.
    ///
    ///     container.measure()
    ///
    /// | metric | type | dimensions |
    /// |---|---|---|
    /// | `tandem_operation_duration` | timer | `operation`: merge, fetch, fault, save |
    /// | `tandem_operation_failures` | counter | `operation`: also connect |
    ///
    /// `tandem metrics` prints the daemon's own metrics. Cost per operation: formatting, as for
    /// a log, and up to two calls to the backend.
    /// - Parameter factory: The backend; by default, that of `MetricsSystem`.
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
