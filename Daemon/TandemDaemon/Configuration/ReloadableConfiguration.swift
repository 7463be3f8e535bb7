import TandemModel

/// The settings in effect, and the function that reloads them.
final class ReloadableConfiguration {
    private let log: DaemonLog
    /// The settings in effect, each with its source.
    private(set) var report = JSON.null
    /// The function that reloads the configuration; nil for a daemon without configuration sources.
    private var source: ConfigurationReload?

    init(log: DaemonLog) { self.log = log }

    /// Sets the settings with which the daemon starts.
    func begin(_ report: JSON) { self.report = report }

    /// Sets the function that reloads the configuration.
    func setSource(_ source: ConfigurationReload?) { self.source = source }

    /// Reloads the configuration, and returns it with the changed keys; an error changes nothing.
    ///
    /// Throws `usage` for an invalid configuration.
    func reload() throws(TandemError)
        -> (current: DaemonConfiguration, outcome: ConfigurationReload.Outcome)
    {
        do throws(TandemError) {
            guard var source else {
                throw TandemError(
                    .usage, "the daemon has no configuration file to read again; restart it")
            }
            let outcome = try source.reload()
            self.source = source
            report = source.current.report
            return (source.current, outcome)
        } catch {
            log(.reloadFailed, [:], "\(error.message); nothing was changed")
            throw error
        }
    }

    /// Logs a reload whose settings have taken effect.
    func logReload(_ outcome: ConfigurationReload.Outcome) {
        log(
            .reloaded,
            [
                "changed": outcome.changed.joined(separator: ","),
                "restart": outcome.needsRestart.joined(separator: ","),
            ])
    }
}
