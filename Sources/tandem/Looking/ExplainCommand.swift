import ArgumentParser
import Tandem

/// `tandem explain`: how the daemon carries out a fetch.
struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Carries out a fetch and shows how: index, rows read, rows returned.",
        discussion: """
            A step for what is fetched, and one below it for related objects that it is found by, or, where the predicate \
            has an OR, for each of the indexes and unique keys that lead to it. The daemon takes the plan that reads least of what is stored now.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: RequestOptions

    @Flag(help: "Of a count instead of a fetch.")
    var count = false

    @Option(name: .shortAndLong, help: "short or json.")
    var output: OutputFormat = .short

    func run() throws {
        let request = try options.request()
        let found = try global.container().explain(request, isCount: count, at: options.at)
        let steps = found.steps.map { step in
            var step = step
            // Any order is the right one where none was asked for.
            if request.sort.isEmpty || count { step.isOrdered = false }
            return step
        }
        if output == .json { return printLine(ExplainCommand.json(found, steps).text) }
        var depth = 0
        for (place, step) in steps.enumerated() {
            let remarks = place == 0 ? remarks(steps, request) : []
            let text = ([step.text(isAsked: request.predicate != nil)] + remarks)
            printLine(String(repeating: "  ", count: depth) + text.joined(separator: ", "))
            // The parts of a union are beside each other.
            if place == 0 || steps[0].access != .union { depth += 1 }
        }
        for (name, number) in [
            ("rows read", found.rowsRead), ("keys read", found.keysRead),
            (count ? "counted" : "rows returned", found.returned),
        ] {
            printLine("\(name.padded(to: 14))\(number)")
        }
    }

    /// What is done with the candidates of the first step.
    private func remarks(_ steps: [FetchPlanStep], _ request: FetchRequest) -> [String] {
        if count || request.sort.isEmpty || steps[0].isOrdered { return [] }
        if steps[0].access == .scan, steps.count > 1 { return ["in the order of"] }
        return ["sorted by \(options.sort ?? "")"]
    }

    private static func json(_ found: FetchExplanation, _ steps: [FetchPlanStep]) -> JSON {
        .object([
            "position": .int(Int64(clamping: found.position)),
            "plan": .array(steps.map(\.json)), "rowsRead": .int(Int64(found.rowsRead)),
            "keysRead": .int(Int64(found.keysRead)), "returned": .int(Int64(found.returned)),
        ])
    }
}

extension FetchPlanStep {
    /// One line, such as `Team: index (zone, wins), 2 ranges, answers the predicate, in order`.
    ///
    /// Where no predicate was asked there is none to answer: all there are match.
    fileprivate func text(isAsked: Bool) -> String {
        var parts = [way]
        if access == .index { parts.append("\(ranges) \(ranges == 1 ? "range" : "ranges")") }
        if access == .unique, ranges != 1 { parts.append("\(ranges) keys") }
        if !isAsked {
            parts.append("no predicate")
        } else if decides {
            parts.append("answers the predicate")
        }
        if isOrdered { parts.append("in order") }
        return "\(entity): \(parts.joined(separator: ", "))"
    }

    private var way: String {
        let names = properties.joined(separator: ", ")
        return switch access {
        case .scan: "scan"
        case .index: "index (\(names))"
        case .unique: "unique (\(names))"
        case .inverse: "inverse of \(names)"
        case .related: "back over \(names) from"
        case .union: "all of the \(ranges) below"
        }
    }

    fileprivate var json: JSON {
        .object([
            "entity": .string(entity), "access": .string(access.rawValue),
            "properties": .array(properties.map { .string($0) }), "ranges": .int(Int64(ranges)),
            "decides": .bool(decides), "ordered": .bool(isOrdered),
        ])
    }
}
