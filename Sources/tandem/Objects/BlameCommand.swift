import ArgumentParser
import Tandem

/// `tandem blame`: prints the transaction that last set each property of an object.
struct BlameCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "blame",
        abstract: "Show which transaction last set each property.",
        discussion: """
            The transaction is missing if the property was set before the journal's first position. If a migration \
            added the property, the transaction is that of the migration. All names are the current ones.
            """)

    @Argument(help: "The object, such as Team/3.")
    var object: String

    @Argument(help: "Only this property.")
    var property: String?

    @Option(
        help: ArgumentHelp("The position to read at; the last by default.", valueName: "position"))
    var at: String?

    @Option(name: .shortAndLong, help: "The output format.")
    var output: OutputFormat = .short

    @OptionGroup var options: SourceOptions

    func run() throws {
        let source = options.source()
        let blame = try Blame(object, property, source, at: at)
        let lines = LineOutput()
        defer { lines.finish() }
        if output == .json {
            blame.items.forEach { lines.line(blame.json($0).text) }
        } else {
            blame.table(options.logStyle(source)).forEach(lines.styledLine)
        }
        try source.throwIfDamaged()
    }
}

/// The transactions that last set the properties of an object.
struct Blame {
    /// The origin of a property's value.
    enum Setter {
        case step(ObjectHistory.Step)
        case migration(Transaction)
    }

    /// A property and the origin of its value; the origin is nil if it is no longer in the journal.
    struct Item {
        var property: String
        var setter: Setter?
    }

    private(set) var items: [Item]
    private let oldest: UInt64
    private let names: CurrentNames

    /// Reads the journal backwards until the origin of every property or the object's insertion is
    /// found.
    init(
        _ object: String, _ property: String?, _ source: any LogSource, at: String? = nil
    ) throws {
        let history = try ObjectHistory(object, source)
        let top = try at.map { try SourceOptions.number($0, source) }
        let names = try CurrentNames(source)
        self.names = names
        let installed = try source.installations().filter { $0.position <= top ?? .max }
        var walk = BlameWalk(property, installed, names)
        oldest = try history.backwards(through: top) { walk.process($0) }
        walk.consumeMigrations(after: 0)
        guard walk.hasBegun else {
            throw CommandFailure("no transaction in the journal changed \(object)")
        }
        guard !walk.wanted.isEmpty else {
            let known = try source.newestModel()?.entity(named: history.id.entity)?.properties
            throw TandemError.unknownProperty(
                property ?? "", of: history.id.entity, known: (known ?? []).map(\.name).sorted())
        }
        let found = walk.found
        items = walk.wanted.sorted().map { Item(property: $0, setter: found[$0]) }
    }

    /// Returns the value to which a change set a property.
    private func value(_ item: Item) -> JSON? {
        guard case .step(let step) = item.setter, let entity = step.entity,
            let model = step.entry.model,
            let slot = names.properties(of: entity, model).firstIndex(of: item.property)
        else { return nil }
        if entity.properties[slot].isToMany {
            let links = ShownLink.all(of: step.change).filter { $0.slot == slot }
            return .string(
                links.map { $0.sign.rawValue + names.id($0.target, model).description }
                    .joined(separator: " "))
        }
        guard let row = step.change.row else { return .null }
        return names.json(row.uncheckedValue(slot, in: entity), model)
    }

    /// Returns the JSON object for `-o json`.
    func json(_ item: Item) -> JSON {
        var members: [String: JSON] = ["property": .string(item.property)]
        if let setter = item.setter {
            let (transaction, principal) = (setter.transaction, setter.transaction.principal)
            members["type"] = .string(setter.word)
            members["position"] = .int(Int64(transaction.position))
            members["time"] = .double(Double(transaction.time) / 1_000_000)
            members["author"] = .string(principal.author)
            members["pid"] = .int(Int64(principal.pid))
            members["uid"] = .int(Int64(principal.uid))
            members["unit"] = .string(principal.unit)
            members["value"] = value(item)
        }
        return .object(members)
    }

    private func words(_ item: Item, _ setter: Setter) -> String {
        switch setter {
        case .migration: "by the migration"
        case .step(let step) where step.change.kind == .delete: "deleted"
        case .step: value(item)?.text ?? ""
        }
    }

    /// Returns a line for each property.
    func table(_ logStyle: LogStyle) -> [String] {
        var clock = WallClock(isUTC: logStyle.isUTC)
        let rows = items.map { item -> [String] in
            guard let setter = item.setter else {
                return ["<\(oldest)", "", "", item.property, ""]
            }
            let transaction = setter.transaction
            let principal = transaction.principal
            let unit = principal.unit.isEmpty ? "" : " \(principal.unit)"
            return [
                "\(transaction.position)", clock.iso(transaction.time),
                "\(principal.author.isEmpty ? "-" : principal.author)[\(principal.pid)]\(unit)",
                item.property, words(item, setter),
            ]
        }
        let widths = (0..<4).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let cells = zip(row, widths).map { $0.padded(to: $1 + 2) }
            return
                (logStyle.style.paint(cells[0] + cells[1], .position)
                + logStyle.style.paint(cells[2], .name) + (cells[3] + row[4]).printable).trimmed
        }
    }
}

extension Blame.Setter {
    /// The transaction that set the value.
    fileprivate var transaction: Transaction {
        switch self {
        case .step(let step): step.entry.transaction
        case .migration(let transaction): transaction
        }
    }

    /// The kind of change.
    fileprivate var word: String {
        switch self {
        case .step(let step): step.change.kind.word
        case .migration: "migration"
        }
    }
}
