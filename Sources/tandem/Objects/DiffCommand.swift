import ArgumentParser
import Tandem
import TandemIO

/// `tandem diff`: prints the net changes between two positions.
struct DiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff", abstract: "Show the differences between two positions.",
        discussion: """
            Prints each changed object once, with the net effect of all transactions between the positions and with \
            current names. The journal does not record the effect of a migration on objects, so a remark lists each \
            migration. With -o json, remarks go to standard error.
            """)

    @Argument(help: "The earlier position.")
    var from: String

    @Argument(help: "The later position; the last by default.")
    var to: String?

    @Option(
        name: [.customShort("E"), .long], parsing: .singleValue,
        help: "Only objects of this entity or its subentities.")
    var entity: [String] = []

    @Option(name: .shortAndLong, help: "The output format.")
    var output: OutputFormat = .short

    @OptionGroup var options: SourceOptions

    func run() throws {
        let source = options.source()
        let floor = try SourceOptions.number(from, source)
        let top = try to.map { try SourceOptions.number($0, source) } ?? source.bounds().last
        guard floor <= top else {
            throw CommandFailure(
                "position \(from) is after position \(top); give the earlier position first",
                code: 2)
        }
        let objects = try net(source, floor, top)
        let lines = LineOutput()
        defer { lines.finish() }
        let style = options.logStyle(source).style
        for object in objects {
            if output == .json {
                lines.line(object.json.text)
            } else {
                object.lines(style).forEach(lines.styledLine)
            }
        }
        for remark in try migrations(source, floor, top) {
            // With -o json, each line of standard output must be a JSON object.
            if output == .json {
                printRemark(remark)
            } else {
                lines.line(remark)
            }
        }
        try source.throwIfDamaged()
    }

    /// Returns a line for each migration between two positions.
    private func migrations(
        _ source: any LogSource, _ floor: UInt64, _ top: UInt64
    ) throws -> [String] {
        try source.migrations().filter { floor < $0.position && $0.position <= top }.map {
            let entry = LogEntry(transaction: $0.transaction, cursor: nil, model: $0.model)
            return "a migration at position \($0.position), whose effect on objects is not shown: "
                + ChangeText(entry: entry).summary
        }
    }

    /// Returns the objects that differ, by number.
    private func net(
        _ source: any LogSource, _ floor: UInt64, _ top: UInt64
    ) throws -> [NetObjectChange] {
        var filter = LogFilter()
        filter.entities = entity
        filter.names = TransactionNames(newest: try source.newestModel())
        let names = try CurrentNames(source)
        var objects: [ObjectNumber: NetObjectChange] = [:]
        try LogReader(source: source, filter: filter).forwards(after: floor, through: top) {
            entry in
            for change in entry.transaction.changes {
                guard let model = entry.model, let entity = entry.entity(of: change) else {
                    throw CommandFailure(
                        "the model of transaction \(entry.transaction.position) is no longer in the journal; "
                            + "give a later position")
                }
                let number = change.object.number
                let id = names.id(change.object, model).description
                objects[number, default: NetObjectChange(id)].add(change, entity, model, names)
            }
            return true
        }
        return objects.sorted { $0.key < $1.key }.map(\.value).filter { !$0.isEmpty }
    }
}
