import ArgumentParser
import Tandem
import TandemStore

/// `tandem dump`: prints the state that a replay of the journal produces, in a fixed order.
struct DumpCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dump", abstract: "Print the store's logical dump, or its hash.",
        discussion: """
            Stores of the same log at the same position have identical dumps. If a daemon is running, the dump shows \
            the last checkpoint.
            """)

    @OptionGroup var location: StoreDirectory

    @Flag(help: "Print the position and a hash of the dump.")
    var hash = false

    func run() throws {
        let store = try location.openForReading()
        defer { store.close() }
        try mapped {
            if hash { return printLine("\(store.appliedPosition) \(try store.stateHash())") }
            try store.dump(printLine)
        }
    }
}
