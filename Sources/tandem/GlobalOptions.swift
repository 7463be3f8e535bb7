import ArgumentParser
import Tandem
import TandemIO

/// Which daemon is meant; every option has a variable.
struct GlobalOptions: ParsableArguments {
    @Option(help: "The path of the daemon's socket (TANDEM_SOCKET).")
    var socket: String?

    @Option(help: "The daemon's name (TANDEM_NAME); else `default`.")
    var name: String?

    func validate() throws { try DaemonName.check(name) }

    /// The directory that a verb reads without a daemon: the given one, or TANDEM_STORE if nothing names a daemon.
    func directory(_ given: String?) -> String? {
        func variable(_ name: String) -> String? {
            ThisProcess.environment(name).flatMap { $0.isEmpty ? nil : $0 }
        }
        let namesDaemon =
            socket != nil || name != nil || variable("TANDEM_SOCKET") != nil
            || variable("TANDEM_NAME") != nil
        return given ?? (namesDaemon ? nil : variable("TANDEM_STORE"))
    }

    /// A container of that daemon, without a model of its own.
    ///
    /// A verb that asks once fails at once without a daemon, and waits for one that is busy; a patient one gives it time to come. None takes
    /// numbers for objects before it makes one.
    func container(
        author: String = "tandem", isPatient: Bool = false,
        cachedRows: Int = ClientLimits().cachedRows
    ) -> PersistentContainer {
        var limits = ClientLimits()
        limits.cachedRows = cachedRows
        limits.firstNumbers = 0
        if !isPatient { limits.absentMilliseconds = 300 }
        let path = socket ?? name.map { TandemPaths.defaultSocket(name: $0) }
        let name = ThisProcess.environment("TANDEM_NAME") ?? "default"
        return PersistentContainer(socket: path, name: name, author: author, limits: limits)
    }
}

/// The name of a daemon, which is part of paths.
enum DaemonName {
    /// Throws a `ValidationError` for a name, given or of TANDEM_NAME, that would lead elsewhere.
    static func check(_ given: String?) throws {
        guard let name = given ?? ThisProcess.environment("TANDEM_NAME"),
            name.isEmpty || name.contains("/") || name.hasPrefix(".")
        else { return }
        throw ValidationError(
            "`\(name.printable)` is not the name of a daemon, which has no `/` and no `.` at its "
                + "beginning")
    }
}
