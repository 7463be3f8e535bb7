public import Logging
public import Tandem

extension PersistentContainer {
    /// Logs the container's operations and the state changes of its connection.
    ///
    /// Call this once, right after creating the container: contexts that already exist are not
    /// logged.
    ///
    ///     let container = PersistentContainer(entities: [Team.self], author: "scores")
    ///     container.log(to: Logger(label: "scores.store"))
    ///
    /// | level | message | metadata |
    /// |---|---|---|
    /// | debug | `connect`, `merge`, `fetch`, `fault`, `save` | context, position, objects, ms, … |
    /// | warning | the same, for a failure that no call throws: a refused connection, a merge | error |
    /// | notice | `connection lost`, `restored`, `readOnly`, `writable` | position, reason |
    ///
    /// Operations that `TANDEM_DEBUG` names are logged whatever the logger's level, and are no
    /// longer written to standard error. The logger's level is read once, by this call. Cost:
    /// formatting each logged operation, and reading the clock twice for any other operation.
    public func log(to logger: Logger) { log(to: logger, always: OperationLog.namedTopics) }

    /// Logs operations, and ignores the logger's level for these topics.
    package func log(to logger: Logger, always topics: Set<OperationLog.Topic>) {
        let unlimited = logger.with(level: .trace)
        let wanted = logger.logLevel <= .debug ? Set(OperationLog.Topic.allCases) : topics
        let receiver = OperationLog.Receiver(wanted, wantsUnthrownFailures: true) {
            (entry: OperationLog.Entry) in
            let chosen = topics.contains(entry.topic) ? unlimited : logger
            chosen.log(
                level: entry.isUnthrownFailure ? .warning : .debug, "\(entry.topic.rawValue)",
                metadata: entry.metadata)
        }
        core.log.add(receiver, replacesStandardError: true)
        let events = connectionEvents
        Task.detached {
            for await event in events { logger.log(event) }
        }
    }
}

extension OperationLog.Entry {
    fileprivate var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = ["ms": "\(milliseconds)"]
        for field in fields { metadata[field.name] = "\(field.value)" }
        return metadata
    }
}

extension Logger {
    fileprivate func with(level: Level) -> Logger {
        var logger = self
        logger.logLevel = level
        return logger
    }

    fileprivate func log(_ event: ConnectionEvent) {
        var metadata: Metadata = ["position": "\(event.position)"]
        if !event.reason.isEmpty { metadata["reason"] = "\(event.reason)" }
        if event.skipped > 0 { metadata["skipped"] = "\(event.skipped)" }
        // A merge that failed has already been logged, with its error.
        if event.state == .mergeFailed { return }
        notice("connection \(event.state.rawValue)", metadata: metadata)
    }
}
