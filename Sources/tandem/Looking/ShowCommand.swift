import ArgumentParser
import Tandem

/// `tandem show`: an object as it was at a position.
struct ShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Shows an object as it is, or was at a position.",
        discussion:
            "It reads the journal back to where the object came to be, as far as that is kept.")

    @Argument(help: "The object, as Team/3.")
    var object: String

    @Option(help: ArgumentHelp("As it was at this position.", valueName: "position"))
    var at: String?

    @Option(name: .shortAndLong, help: "short or json.")
    var output: OutputFormat = .short

    @OptionGroup var options: SourceOptions

    func run() throws {
        let source = options.source()
        let state = try ObjectState(object, source, at: at)
        let lines = LineOutput()
        defer { lines.finish() }
        if output == .json {
            lines.line(state.json.text)
        } else {
            state.lines(options.look(source)).forEach(lines.line)
        }
        try source.conclude()
    }
}

/// An object at a position, as the journal tells it.
struct ObjectState {
    let id: ObjectID
    private var last: ObjectStory.Step?
    /// The last transaction that did something to it.
    private var changedAt: UInt64 = 0
    /// The members that are known, with their places.
    private var members: [String: [ObjectReference: Rank?]] = [:]
    /// Whether the journal goes back to where the object came to be, so that no member is missing.
    private var isWhole = false
    private let names: TodaysNames

    /// Throws ``CommandFailure`` when it was not there, or what changed it is no longer kept.
    init(_ object: String, _ source: any LogSource, at: String?) throws {
        let story = try ObjectStory(object, source)
        id = story.id
        names = try TodaysNames(source)
        let top = try at.map { try SourceOptions.number($0, source) }
        var gone: UInt64?
        var steps: [ObjectStory.Step] = []
        let oldest = try story.backwards(through: top) { step in
            switch step.change.kind {
            case .delete:
                gone = step.entry.transaction.position
                return false
            case .insert, .update: last = last ?? step
            case .touch: break
            }
            steps.append(step)
            isWhole = step.change.kind == .insert
            return !isWhole
        }
        if let gone, last == nil { throw CommandFailure("\(id) was deleted at \(gone)") }
        guard last != nil else {
            throw CommandFailure(
                "no transaction from \(oldest) on, the oldest that is kept, changed \(id); "
                    + "`tandem fetch --at` asks the daemon")
        }
        changedAt = steps.first?.entry.transaction.position ?? 0
        for step in steps.reversed() { link(step) }
    }

    private mutating func link(_ step: ObjectStory.Step) {
        guard let entity = step.entity, let model = step.entry.model else { return }
        for link in step.change.links {
            let name = names.property(link.slot, of: entity, model)
            if link.isAdded {
                members[name, default: [:]].updateValue(link.rank, forKey: link.target)
            } else {
                members[name]?.removeValue(forKey: link.target)
            }
        }
    }

    /// The properties with their values; to-many relationships with what is known of their members.
    private var values: [(name: String, isToMany: Bool, value: Value)] {
        guard let step = last, let entity = step.entity, let row = step.change.row,
            let model = step.entry.model
        else { return [] }
        return zip(names.properties(of: entity, model), entity.properties)
            .sorted { $0.0 < $1.0 }
            .map { name, property in
                let value = property.isToMany ? .null : row.value(property.slot, in: entity)
                return (name, property.isToMany, value)
            }
    }

    private func targets(_ name: String) -> [ObjectReference] {
        (members[name] ?? [:]).map { RankPlan.Place(member: $0.key, rank: $0.value) }
            .sorted(by: RankPlan.isBefore).map(\.member)
    }

    /// An object for `-o json`.
    var json: JSON {
        guard let model = last?.entry.model else { return .null }
        var shown: [String: JSON] = [:]
        for (name, isToMany, value) in values {
            shown[name] =
                isToMany
                ? .array(targets(name).map { .string(names.id($0, model).description) })
                : names.json(value, model)
        }
        return .object([
            "id": .string(id.description), "entity": .string(id.entity), "values": .object(shown),
            "version": .int(Int64(changedAt)),
            "isWhole": .bool(isWhole),
        ])
    }

    /// A line for each property.
    func lines(_ look: LogLook) -> [String] {
        guard let step = last, let model = step.entry.model else { return ["\(id)"] }
        let position = step.entry.transaction.position
        func text(_ value: Value) -> String {
            guard let reference = value.reference else { return names.json(value, model).text }
            let name = look.nameOf(ObjectName(object: reference, position: position))
            return names.id(reference, model).description + (name.map { " \($0)" } ?? "")
        }
        let width = values.map(\.name.count).max() ?? 0
        let head = look.style.paint("\(id)", .name) + " as of \(changedAt)"
        return [head]
            + values.map { name, isToMany, value in
                let words =
                    isToMany
                    ? targets(name).map { text(.reference($0)) }.joined(separator: ", ")
                        + (isWhole ? "" : " …")
                    : text(value)
                return "    \(name.padded(to: width + 1))\(words)".trimmed
            }
    }
}
