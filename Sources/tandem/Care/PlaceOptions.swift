import ArgumentParser
import Tandem

/// A daemon, or the directory of a store without one: -D, or TANDEM_STORE if no daemon is named.
struct PlaceOptions: ParsableArguments {
    @Option(
        name: [.customShort("D"), .customLong("directory")],
        help: ArgumentHelp(
            "The directory of a store (TANDEM_STORE), without a daemon.", valueName: "dir"))
    var given: String?

    /// The directory that is meant instead of a daemon.
    var directory: String? { global.directory(given) }

    @OptionGroup var global: GlobalOptions

    /// The directory itself, which the daemon names if it was not given.
    func folder() throws -> StoreFolder {
        if let directory { return StoreFolder(directory) }
        guard let path = try DaemonStatus(global).json["store"]?.string else {
            throw CommandFailure("the daemon does not say where its store is; give it with -D")
        }
        return StoreFolder(path)
    }
}
