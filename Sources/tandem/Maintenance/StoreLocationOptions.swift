import ArgumentParser
import Tandem

/// The options that select a daemon, or a store's directory: -D, or TANDEM_STORE if no daemon is
/// named.
struct StoreLocationOptions: ParsableArguments {
    @Option(
        name: [.customShort("D"), .customLong("directory")],
        help: ArgumentHelp(
            "The store's directory (TANDEM_STORE), without a daemon.", valueName: "dir"))
    var given: String?

    /// The directory to be used without a daemon; nil if the daemon is to be used.
    var directory: String? { global.directory(given) }

    @OptionGroup var global: GlobalOptions

    /// Returns the store's directory; asks the daemon for it if none was given.
    func folder() throws -> StoreFolder {
        if let directory { return StoreFolder(directory) }
        guard let path = try DaemonStatus(global).json["store"]?.string else {
            throw CommandFailure(
                "the daemon does not report its store's directory; give the directory with -D")
        }
        return StoreFolder(path)
    }
}
