import ArgumentParser
import Tandem
import TandemIO

/// Which daemon is meant; every option has a variable.
struct GlobalOptions: ParsableArguments {
    @Option(help: "The path of the daemon's socket (TANDEM_SOCKET).")
    var socket: String?

    @Option(help: "The daemon's name (TANDEM_NAME); else `default`.")
    var name: String?

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
