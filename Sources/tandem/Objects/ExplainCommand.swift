import ArgumentParser
import Tandem

/// `tandem explain`: prints the plan of a fetch.
struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Carry out a fetch, and print its plan and what it read.",
        discussion: """
            The plan is a tree: the kind of result at the top, then the sorting, the evaluation of \
            the predicate, and the access paths that find candidates. Steps that the fetch does \
            not need are omitted. The daemon chooses the plan that reads the fewest objects in \
            the current store.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: RequestOptions

    @Flag(help: "Explain a count instead of a fetch of rows.")
    var count = false

    @Option(name: .shortAndLong, help: "The output format.")
    var output: OutputFormat = .short

    func run() throws {
        let (request, container) = (try options.request(), global.container())
        if let at = options.at { try CommandFailure.checkReached(at, try container.end().number) }
        let found = try container.explain(request, isCount: count, at: options.at)
        let hasNoOrder = request.sort.isEmpty || count
        let steps = found.steps.map { step in
            var step = step
            // Without a requested order, the order of the candidates is meaningless.
            if hasNoOrder { step.isOrdered = false }
            return step
        }
        if output == .json { return printLine(ExplainCommand.json(found, steps).text) }
        var tree = PlanText(steps)
        tree.add(found.output.rawValue + limits)
        if !hasNoOrder, !(steps.first?.isOrdered ?? true) {
            tree.add("sorted by \(options.sort ?? "")")
        }
        tree.addPlan()
        for line in tree.lines { printLine(line) }
        printLine(found.isAnsweredAtOnce ? "answered at once" : "answered by a reader")
        for (name, number) in [
            ("rows read", found.rowsRead), ("keys read", found.keysRead),
            (count ? "counted" : "rows returned", found.returned),
        ] {
            printLine("\(name.padded(to: 14))\(number)")
        }
    }

    /// The limit and the offset, which a count ignores.
    private var limits: String {
        if count { return "" }
        let limit = options.limit.map { ", limit \($0)" } ?? ""
        return limit + (options.offset > 0 ? ", offset \(options.offset)" : "")
    }

    private static func json(_ found: FetchExplanation, _ steps: [FetchPlanStep]) -> JSON {
        .object([
            "position": .int(Int64(clamping: found.position)),
            "output": .string(found.output.rawValue), "atOnce": .bool(found.isAnsweredAtOnce),
            "plan": .array(steps.map(\.json)), "rowsRead": .int(Int64(found.rowsRead)),
            "keysRead": .int(Int64(found.keysRead)), "returned": .int(Int64(found.returned)),
        ])
    }
}

/// The lines of a plan, each indented by its depth.
private struct PlanText {
    private(set) var lines: [String] = []
    private var depth = 0
    private let steps: [FetchPlanStep]
    private var next = 0

    /// Creates the text of a plan whose steps are in preorder.
    init(_ steps: [FetchPlanStep]) { self.steps = steps }

    /// Adds a line; the next one is indented below it.
    mutating func add(_ line: String) {
        lines.append(String(repeating: "  ", count: depth) + line)
        depth += 1
    }

    /// Adds the plan of a fetch: the evaluation of its predicate, if any, above the access path.
    mutating func addPlan() {
        guard steps.indices.contains(next) else { return }
        if !steps[next].decides { add("rows evaluated") }
        addAccess()
    }

    /// Adds an access path, and below it the paths that it combines.
    private mutating func addAccess() {
        let step = steps[next]
        next += 1
        add(step.text)
        let below = depth
        while steps.indices.contains(next), steps[next].depth > step.depth {
            // Below a relationship is the plan of a separate fetch with its own predicate.
            if step.access == .related { addPlan() } else { addAccess() }
            depth = below
        }
    }
}

extension FetchPlanStep {
    /// The step as one line, such as `Team: index (zone, wins), 2 ranges, in order`.
    fileprivate var text: String {
        var parts = [path]
        if access == .index { parts.append("\(ranges) \(ranges == 1 ? "range" : "ranges")") }
        if access == .unique, ranges != 1 { parts.append("\(ranges) keys") }
        if isOrdered { parts.append("in order") }
        if needsOnlyKeys { parts.append("keys only") }
        return "\(entity): \(parts.joined(separator: ", "))"
    }

    private var path: String {
        let names = properties.joined(separator: ", ")
        return switch access {
        case .scan: "scan"
        case .index: "index (\(names))"
        case .unique: "unique (\(names))"
        case .inverse: "inverse of \(names)"
        case .related: "back over \(names) from"
        case .union: "union of these \(ranges)"
        }
    }

    fileprivate var json: JSON {
        .object([
            "entity": .string(entity), "access": .string(access.rawValue),
            "properties": .array(properties.map { .string($0) }), "ranges": .int(Int64(ranges)),
            "decides": .bool(decides), "ordered": .bool(isOrdered),
            "depth": .int(Int64(depth)), "keysOnly": .bool(needsOnlyKeys),
        ])
    }
}
