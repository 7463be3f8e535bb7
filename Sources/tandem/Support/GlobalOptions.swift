import ArgumentParser
import Tandem
import TandemIO

/// The options that select a daemon; each has an environment variable.
struct GlobalOptions: ParsableArguments {
    @Option(help: "The path of the daemon's socket (TANDEM_SOCKET).")
    var socket: String?

    @Option(help: "The daemon's name (TANDEM_NAME), else `default`.")
    var name: String?

    func validate() throws { try DaemonName.check(name) }

    /// Returns the directory that a verb reads without a daemon, or nil to use the daemon.
    ///
    /// The result is the given directory, or TANDEM_STORE if no option or variable selects a
    /// daemon.
    func directory(_ given: String?) -> String? {
        let namesDaemon =
            socket != nil || name != nil || Self.variable("TANDEM_SOCKET") != nil
            || Self.variable("TANDEM_NAME") != nil
        return given ?? (namesDaemon ? nil : Self.variable("TANDEM_STORE"))
    }

    /// Returns the value of an environment variable; nil if it is not set, or empty.
    static func variable(_ name: String) -> String? {
        ThisProcess.environment(name).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Creates a container for the selected daemon; the container uses the store's model.
    ///
    /// If no daemon is running, a verb fails after 300 ms; a patient verb waits for the daemon to
    /// start. Both wait for a busy daemon. No object numbers are leased before the first insert.
    func container(
        author: String = "tandem", isPatient: Bool = false,
        cachedRows: Int = ClientLimits().cachedRows
    ) -> PersistentContainer {
        var limits = ClientLimits()
        limits.cachedRows = cachedRows
        limits.firstNumbers = 0
        if !isPatient { limits.absentMilliseconds = 300 }
        return PersistentContainer(socket: socketPath, author: author, limits: limits)
    }

    /// The path of the daemon's socket.
    private var socketPath: String {
        if let socket { return socket }
        if let name { return TandemPaths.defaultSocket(name: name) }
        return TandemPaths.socket(name: ThisProcess.environment("TANDEM_NAME") ?? "default")
    }

    /// Throws a failure because the daemon did not answer in time, or because no daemon listens.
    func throwUnanswered(within seconds: Double) throws -> Never {
        _ = try Transport.socketPath(socketPath).connect()
        throw CommandFailure("the daemon did not answer within \(seconds) s", code: 3)
    }
}

/// The name of a daemon, which is part of its paths.
enum DaemonName {
    /// Throws a `ValidationError` if the name can't be a file name, or is that of a hidden file;
    /// checks TANDEM_NAME if no name is given.
    static func check(_ given: String?) throws {
        guard let name = given ?? ThisProcess.environment("TANDEM_NAME"),
            name.isEmpty || name.contains("/") || name.hasPrefix(".")
        else { return }
        throw ValidationError(
            "`\(name.printable)` is not a valid daemon name; a name has no `/` and does not "
                + "begin with `.`")
    }
}
