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
        let position = try options.at.map { at in
            let end = try container.end()
            try CommandFailure.checkReached(at, end.number)
            return end.at(at)
        }
        let found = try container.explain(request, isCount: count, at: position)
        if output == .json { return printLine(json(found).text) }
        for line in found.plan(limits: limits) { printLine(line) }
        printLine(found.isAnsweredAtOnce ? "answered at once" : "answered by a reader")
        for (name, number) in [
            ("rows read", found.rowsRead), ("keys read", found.keysRead),
            (count ? "counted" : "rows returned", found.returned),
        ] {
            printLine("\(name.padded(to: 14))\(number)")
        }
    }

    /// The limit and the offset.
    private var limits: String {
        let limit = options.limit.map { ", limit \($0)" } ?? ""
        return limit + (options.offset > 0 ? ", offset \(options.offset)" : "")
    }

    private func json(_ found: FetchExplanation) -> JSON {
        .object([
            "position": .int(Int64(clamping: found.position.number)),
            "sort": options.sort.map { .string($0) } ?? .null,
            "limit": options.limit.map { .int(Int64($0)) } ?? .null,
            "offset": .int(Int64(options.offset)),
            "output": .string(found.output.rawValue), "atOnce": .bool(found.isAnsweredAtOnce),
            "plan": .array(found.steps.map(\.json)), "rowsRead": .int(Int64(found.rowsRead)),
            "keysRead": .int(Int64(found.keysRead)), "returned": .int(Int64(found.returned)),
        ])
    }
}

extension FetchPlanStep {
    fileprivate var json: JSON {
        .object([
            "entity": .string(entity), "access": .string(access.rawValue),
            "properties": .array(properties.map { .string($0) }), "ranges": .int(Int64(ranges)),
            "decides": .bool(findsOnlyMatches), "ordered": .bool(isOrdered),
            "depth": .int(Int64(depth)), "keysOnly": .bool(needsOnlyKeys),
        ])
    }
}
