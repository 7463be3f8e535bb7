import ArgumentParser
import Tandem

/// A daemon, or the directory of a store without one.
struct PlaceOptions: ParsableArguments {
    @Option(
        name: [.customShort("D"), .long],
        help: ArgumentHelp("The directory of a store, without a daemon.", valueName: "dir"))
    var directory: String?

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
