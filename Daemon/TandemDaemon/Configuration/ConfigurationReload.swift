import TandemModel

/// The current configuration of a daemon, and the function that reads it again.
struct ConfigurationReload {
    /// The configuration in effect.
    private(set) var current: DaemonConfiguration
    /// Reads the configuration; throws `usage` with all problems found in it.
    let read: () throws(TandemError) -> DaemonConfiguration

    init(
        _ current: DaemonConfiguration,
        read: @escaping () throws(TandemError) -> DaemonConfiguration
    ) {
        (self.current, self.read) = (current, read)
    }

    /// The keys whose new values are in effect, and those whose new values need a restart.
    struct Outcome {
        var changed: [String] = []
        var needsRestart: [String] = []
    }

    /// Reads the configuration, and adopts the values that need no restart.
    mutating func reload() throws(TandemError) -> Outcome {
        let next = try read()
        var outcome = Outcome()
        for setting in Setting.all where setting.value(in: next) != setting.value(in: current) {
            guard setting.isReloadable else {
                outcome.needsRestart.append(setting.name)
                continue
            }
            outcome.changed.append(setting.name)
            current.origins[setting.name] = next.origins[setting.name]
        }
        current.roles = next.roles
        for limit in Limit.allCases where limit.isReloadable {
            current.limits[limit] = next.limits[limit]
        }
        return outcome
    }
}

extension Setting {
    /// Whether a running daemon can adopt another value.
    var isReloadable: Bool {
        let limit = name.split(separator: ".").last.flatMap { Limit(rawValue: String($0)) }
        return name.hasPrefix("roles.")
            || (name.hasPrefix("limits.") && limit?.isReloadable == true)
    }
}

extension Limit {
    /// Whether a running daemon can adopt another value.
    ///
    /// The limits of store, ring, leases and readers are fixed at the start.
    var isReloadable: Bool {
        switch self {
        case .savesKept, .objectReads, .requestReads, .ringTransactions, .ringBytes, .leaseNumbers,
            .readerThreads, .storeReaders:
            false
        default: true
        }
    }
}
