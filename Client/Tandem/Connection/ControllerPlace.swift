import TandemModel

/// One of the controllers that a connection may have open; given back when nobody holds it.
///
/// The daemon keeps nothing for a controller, so the limit that its welcome names is counted here.
final class ControllerPlace: Sendable {
    private let connection: Connection

    /// Takes a place; throws `limitExceeded` when all are taken.
    init(_ connection: Connection) throws(TandemError) {
        self.connection = connection
        try connection.state.withLock { state throws(TandemError) in
            let limit = state.daemonLimits.controllers
            state.openControllers += 1
            guard state.openControllers > limit else { return }
            throw TandemError(
                .limitExceeded,
                "\(limit) controllers of this container are open, let go of one; the daemon's "
                    + "limits.controllers is \(limit)")
        }
    }

    deinit { connection.state.withLock { $0.openControllers -= 1 } }
}
