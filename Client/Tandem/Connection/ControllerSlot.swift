import TandemModel

/// A slot for one open controller of a connection; freed when this object is released.
///
/// The daemon keeps no state for a controller, so the client enforces the limit in the daemon's
/// welcome.
final class ControllerSlot: Sendable {
    private let connection: Connection

    /// Acquires a slot; throws `limitExceeded` if all slots are in use.
    init(_ connection: Connection) throws(TandemError) {
        self.connection = connection
        try connection.state.withLock { state throws(TandemError) in
            let limit = state.daemon.limits.controllers
            state.daemon.openControllers += 1
            guard state.daemon.openControllers > limit else { return }
            throw TandemError(
                .limitExceeded,
                "\(limit) controllers of this container are open; release one. The daemon's "
                    + "limits.controllers is \(limit)")
        }
    }

    deinit { connection.state.withLock { $0.daemon.openControllers -= 1 } }
}
