import ArgumentParser
import Tandem

/// `tandem blame`: who set each property of an object last.
struct BlameCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "blame",
        abstract: "Shows which transaction last set each property of an object.",
        discussion: """
            What was set before everything that is kept has no transaction. Names are those of today, also of what was \
            set under others.
            """)

    @Argument(help: "The object, as Team/3.")
    var object: String

    @Argument(help: "Only this property.")
    var property: String?

    @Option(help: ArgumentHelp("As it was at this position.", valueName: "position"))
    var at: String?

    @Option(name: .shortAndLong, help: "short or json.")
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
            blame.table(options.look(source)).forEach(lines.line)
        }
        try source.conclude()
    }
}

/// The last setter of each property.
struct Blame {
    /// A property with what set it; none when that is no longer kept.
    struct Item {
        var property: String
        var step: ObjectStory.Step?
    }

    private(set) var items: [Item]
    private let oldest: UInt64
    private let names: TodaysNames

    /// Walks back until every property was met, or the object's beginning.
    init(
        _ object: String, _ property: String?, _ source: any LogSource, at: String? = nil
    ) throws {
        let story = try ObjectStory(object, source)
        let top = try at.map { try SourceOptions.number($0, source) }
        let names = try TodaysNames(source)
        self.names = names
        var wanted: [String] = []
        var found: [String: ObjectStory.Step] = [:]
        var isKnown = false
        oldest = try story.backwards(through: top) { step in
            guard let entity = step.entity, let model = step.entry.model else { return true }
            let properties = names.properties(of: entity, model)
            if !isKnown {
                wanted = properties.filter { property ?? $0 == $0 }
                isKnown = true
            }
            let ends = step.change.kind == .insert || step.change.kind == .delete
            for name in wanted where found[name] == nil {
                let slot = properties.firstIndex(of: name)
                if ends || slot.map(step.change.changed.contains) ?? false { found[name] = step }
            }
            return !ends && found.count < wanted.count
        }
        guard isKnown else {
            throw CommandFailure("no transaction that is kept changed \(object)")
        }
        guard !wanted.isEmpty else {
            throw TandemError(
                .unknownProperty, "\(story.id.entity) has no property `\(property ?? "")`")
        }
        items = wanted.sorted().map { Item(property: $0, step: found[$0]) }
    }

    /// What a step made of a property.
    private func value(_ item: Item) -> JSON? {
        guard let step = item.step, let entity = step.entity, let model = step.entry.model,
            let slot = names.properties(of: entity, model).firstIndex(of: item.property)
        else { return nil }
        if entity.properties[slot].isToMany {
            let links = ShownLink.all(of: step.change).filter { $0.slot == slot }
            return .string(
                links.map { $0.sign.rawValue + names.id($0.target, model).description }
                    .joined(separator: " "))
        }
        guard let row = step.change.row else { return .null }
        return names.json(row.value(slot, in: entity), model)
    }

    /// An object for `-o json`.
    func json(_ item: Item) -> JSON {
        var members: [String: JSON] = ["property": .string(item.property)]
        if let step = item.step {
            let (transaction, principal) = (
                step.entry.transaction, step.entry.transaction.principal
            )
            members["type"] = .string(step.change.kind.word)
            members["position"] = .int(Int64(transaction.position))
            members["time"] = .double(Double(transaction.time) / 1_000_000)
            members["author"] = .string(principal.author)
            members["pid"] = .int(Int64(principal.pid))
            members["uid"] = .int(Int64(principal.uid))
            members["unit"] = .string(principal.unit)
            members["value"] = value(item) ?? .null
        }
        return .object(members)
    }

    /// A line for each property.
    func table(_ look: LogLook) -> [String] {
        var clock = WallClock(isUTC: look.isUTC)
        let rows = items.map { item -> [String] in
            guard let step = item.step else { return ["<\(oldest)", "", "", item.property, ""] }
            let transaction = step.entry.transaction
            let principal = transaction.principal
            let unit = principal.unit.isEmpty ? "" : " \(principal.unit)"
            let isGone = step.change.kind == .delete
            return [
                "\(transaction.position)", clock.iso(transaction.time),
                "\(principal.author.isEmpty ? "-" : principal.author)[\(principal.pid)]\(unit)",
                item.property, isGone ? "deleted" : value(item)?.text ?? "",
            ]
        }
        let widths = (0..<4).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let cells = zip(row, widths).map { $0.padded(to: $1 + 2) }
            return
                (look.style.paint(cells[0] + cells[1], .place)
                + look.style.paint(cells[2], .name) + cells[3] + row[4]).trimmed
        }
    }
}
