import ArgumentParser
import Tandem

/// `tandem diff`: what is different between two positions.
struct DiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff", abstract: "Shows what differs between two positions.",
        discussion: """
            Each object once, with what all the transactions between them come to, under the names of today.
            """)

    @Argument(help: "The earlier position.")
    var from: String

    @Argument(help: "The later position; the end if not given.")
    var to: String?

    @Option(
        name: [.customShort("E"), .long], parsing: .singleValue,
        help: "Only objects of this entity and its subentities.")
    var entity: [String] = []

    @Option(name: .shortAndLong, help: "short or json.")
    var output: OutputFormat = .short

    @OptionGroup var options: SourceOptions

    func run() throws {
        let source = options.source()
        let floor = try SourceOptions.number(from, source)
        let top = try to.map { try SourceOptions.number($0, source) } ?? source.bounds().last
        guard floor <= top else {
            throw CommandFailure(
                "\(from) is later than \(top); the earlier position is first", code: 2)
        }
        let objects = try net(source, floor, top)
        let lines = LineOutput()
        defer { lines.finish() }
        let style = options.look(source).style
        for object in objects {
            if output == .json {
                lines.line(object.json.text)
            } else {
                object.lines(style).forEach(lines.line)
            }
        }
        try source.conclude()
    }

    /// The objects that differ, by number.
    private func net(
        _ source: any LogSource, _ floor: UInt64, _ top: UInt64
    ) throws -> [NetObject] {
        var filter = LogFilter()
        filter.entities = entity
        filter.names = NewestNames(newest: try source.newestModel())
        let names = try TodaysNames(source)
        var objects: [ObjectNumber: NetObject] = [:]
        try LogReader(source: source, filter: filter).forwards(after: floor, through: top) {
            entry in
            for change in entry.transaction.changes {
                guard let model = entry.model, let entity = entry.entity(of: change) else {
                    throw CommandFailure(
                        "transaction \(entry.transaction.position) is of a model that is no longer "
                            + "kept; begin later")
                }
                let number = change.object.number
                let id = names.id(change.object, model).description
                objects[number, default: NetObject(id)].add(change, entity, model, names)
            }
            return true
        }
        return objects.sorted { $0.key < $1.key }.map(\.value).filter { !$0.isNothing }
    }
}
