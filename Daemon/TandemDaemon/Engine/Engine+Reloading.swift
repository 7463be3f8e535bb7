import TandemModel

extension Engine {
    /// Reloads the configuration for an administrator, and returns the changed keys.
    ///
    /// Throws `denied` for another role, and `usage` for an invalid configuration.
    func reload(for session: Session) throws(TandemError) -> JSON {
        try authorize(.admin, of: session, to: "reload the configuration")
        let outcome = try reload()
        return .object([
            "changed": .array(outcome.changed.map { .string($0) }),
            "restart": .array(outcome.needsRestart.map { .string($0) }),
        ])
    }

    /// Reloads the configuration after a signal; errors are only logged.
    func reloadBySignal() { _ = try? reload() }

    private func reload() throws(TandemError) -> ConfigurationReload.Outcome {
        do throws(TandemError) {
            guard var reload = configurationReload else {
                throw TandemError(
                    .usage, "the daemon has no configuration file to read again; restart it")
            }
            let outcome = try reload.reload()
            configurationReload = reload
            adopt(reload.current)
            log(
                .reloaded,
                [
                    "changed": outcome.changed.joined(separator: ","),
                    "restart": outcome.needsRestart.joined(separator: ","),
                ])
            return outcome
        } catch {
            log(.reloadFailed, [:], "\(error.message); nothing was changed")
            throw error
        }
    }

    /// Applies new roles and limits, also to connected clients.
    private func adopt(_ current: DaemonConfiguration) {
        roles = current.roles
        committer.limits = current.limits
        configuration = current.report
        for session in sessions.values.sorted(by: { $0.id < $1.id }) {
            session.role = role(of: session.peer)
            guard session.role == .none else { continue }
            let uid = session.peer.uid
            end(session, TandemError(.denied, "uid \(uid) no longer has a role"), .role)
        }
    }
}
