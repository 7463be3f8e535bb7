public import TandemIO
import TandemModel

/// The way a container reaches its daemon.
///
///     PersistentContainer(model: model, transport: .socketPath("/run/tandem/default.sock"))
public struct Transport: Sendable {
    /// The daemon's name in error messages.
    let name: String
    package let connect: @Sendable () throws -> Socket

    /// Returns a transport that connects to the socket at a path.
    public static func socketPath(_ path: String) -> Transport {
        Transport(name: path) {
            do throws(IOError) {
                return try Socket.connect(path: path)
            } catch {
                throw missing(path, error)
            }
        }
    }

    /// Returns a transport that gets a connected socket from `connect` for each connection.
    ///
    /// Use it for a daemon in the same process, or for a scripted daemon in a test.
    public static func connected(_ connect: @escaping @Sendable () throws -> Socket) -> Transport {
        Transport(name: "<connected>", connect: connect)
    }

    private static func missing(_ path: String, _ error: IOError) -> TandemError {
        if error.isDenied {
            return TandemError(
                .denied,
                "this user may not connect to \(path) (\(error)); join the socket's group, for example with "
                    + "`usermod -aG tandem USER` and a new login, or name another socket "
                    + "(`socket:` in Swift, `--socket` in a command, or TANDEM_SOCKET)")
        }
        return TandemError(
            .disconnected,
            "no daemon listens on \(path) (\(error)); start it with `tandemd --store DIR --socket "
                + "\(path)`, or name another socket (`socket:` in Swift, `--socket` in a command, or "
                + "TANDEM_SOCKET)")
    }
}
