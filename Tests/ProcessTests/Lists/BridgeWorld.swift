import Glibc
import TandemModel
import TestSupport
import TestWorlds
import Testing

/// A random graph with lists of random shapes, each watched in four ways and checked by plain
/// rules.
final class BridgeWorld {
    private let daemon: BridgedDaemon
    private let all: BridgeViewers
    /// The bridge that reads the graph, and saves in a process without viewers.
    private let stranger: BridgeProcess
    private var graph: BridgeGraph
    private var shapes: [ListShape] = []
    /// The graph with which the lists of each way were last compared.
    private var base: [BridgeViewer.Way: Dump] = [:]
    private var position: Int64 = 0
    /// The graph before the last save.
    private var previous = Dump([])
    private var paused: Set<BridgeViewer.Way> = []

    init(lists: Int, isLimited: Bool, _ random: inout SplitMix) throws {
        daemon = try BridgedDaemon()
        graph = BridgeGraph(RandomWorld.model(&random))
        stranger = try daemon.bridge("stranger")
        try stranger.ask(#"{"do": "schema", "apply": \#(graph.model.json.text)}"#)
        // With few cached rows, the client sends more requests to the daemon.
        let cachedRows = [nil, 1, 16][random.next(3)]
        all = try BridgeViewers(daemon, cachedRows: cachedRows)
        try graph.read(stranger)
        for _ in 0..<8 { _ = try save(&random) }
        for _ in 0..<lists {
            var shape = ListShape(isLimited: isLimited, &random)
            shape.offset = 0
            shapes.append(shape)
        }
        for viewer in all.viewers {
            base[viewer.way] = graph.dump
            for (at, shape) in shapes.enumerated() {
                let opened = try viewer.open(viewer.name(at), request(shape, isList: true))
                #expect(opened == graph.dump.table(shape))
            }
        }
    }

    func end() throws {
        for bridge in [stranger, all.viewers[0].bridge, all.viewers[2].bridge] {
            #expect(try bridge.finish() == .exited(0))
        }
        #expect(daemon.daemon.end(SIGTERM) == 0)
    }

    private func request(_ shape: ListShape, isList: Bool) -> String {
        func list(_ words: [String]) -> String {
            "[" + words.map { "\"\($0)\"" }.joined(separator: ", ") + "]"
        }
        func order(_ text: String) -> String {
            let key = ListOrder(text)
            guard key.isFolded || key.isNatural else { return "\"\(text)\"" }
            let selector = key.isFolded ? "caseInsensitiveCompare:" : "naturalCompare:"
            return #"""
                {"key": "\#(key.keyPath)", "ascending": \#(!key.isDescending),
                "selector": "\#(selector)"}
                """#
        }
        var members = [
            #""entity": "\#(shape.entity)""#,
            #""sort": [\#(shape.sort.map(order).joined(separator: ", "))]"#,
            #""includesSubentities": \#(shape.includesSubentities)"#,
        ]
        if let format = shape.format { members.append(#""where": "\#(format)""#) }
        if let limit = shape.limit { members.append(#""limit": \#(limit)"#) }
        if isList {
            if let section = shape.section { members.append(#""sections": "\#(section)""#) }
            members.append(#""refresh": \#(list(shape.refresh))"#)
        }
        return members.joined(separator: ", ")
    }

    // MARK: Rounds

    /// Saves as a random writer, merges the save in some viewers, and returns the problems that
    /// they report.
    func round(_ random: inout SplitMix) throws -> [String] {
        var problems: [String] = []
        let sibling = all.viewers[1]
        if random.next(5) == 0 { problems += try pauseOrResume(sibling) }
        let writer = try save(&random)
        for viewer in all.viewers {
            let comes =
                switch viewer.way {
                case .own, .other: true
                case .sibling: !paused.contains(viewer.way)
                case .late: random.next(3) == 0
                }
            guard comes || viewer.way == writer else { continue }
            try viewer.reach(position)
            problems += try check(
                viewer, hasSaved: viewer.way == writer, isThorough: random.next(6) == 0)
        }
        return problems
    }

    /// Pauses or resumes a viewer's context, between saves, so that the merged saves are known.
    private func pauseOrResume(_ viewer: BridgeViewer) throws -> [String] {
        let isPaused = paused.remove(viewer.way) != nil
        let verb = isPaused ? "resume" : "pause"
        try viewer.bridge.ask(#"{"do": "\#(verb)", "context": "\#(viewer.context)"}"#)
        if isPaused { return try check(viewer, hasSaved: false, isThorough: false) }
        paused.insert(viewer.way)
        return []
    }

    /// Saves random ops as a viewer or as the stranger; returns the viewer whose context has merged
    /// the save.
    private func save(_ random: inout SplitMix) throws -> BridgeViewer.Way? {
        let ops = graph.ops(&random).joined(separator: ", ")
        let pick = random.next(all.viewers.count + 1)
        let viewer = pick < all.viewers.count && !shapes.isEmpty ? all.viewers[pick] : nil
        let answer = try (viewer?.bridge ?? stranger).answer(
            #"""
            {"do": "save", "policy": "objectTrump", "context": "\#(viewer?.context ?? "main")", "ops": [\#(ops)]}
            """#)
        if let position = answer["ok"]?["position"]?.int {
            self.position = max(self.position, position)
        } else {
            // A cascade deleted the object of another op.
            let code = answer["error"]?["code"]?.string
            #expect(["unknownObject", "conflict"].contains(code), "\(answer.text) for \(ops)")
        }
        previous = graph.dump
        try graph.read(stranger)
        return viewer?.way
    }

    // MARK: Checking

    private func check(
        _ viewer: BridgeViewer, hasSaved: Bool, isThorough: Bool
    ) throws -> [String] {
        var problems: [String] = []
        let before = base[viewer.way] ?? Dump([])
        for (at, shape) in shapes.enumerated() {
            let name = viewer.name(at)
            let events = all.drain(name)
            var found = try findProblems(shape, before, graph.dump, events)
            if hasSaved && !found.isEmpty { found = try findProblemsInTwo(shape, before, events) }
            if isThorough { found += try compare(viewer, name, shape) }
            problems += found.map {
                "\(name): \($0); told \(events.map(\.text)); \(request(shape, isList: true))"
            }
        }
        base[viewer.way] = graph.dump
        return problems
    }

    /// Checks the events of a viewer's save as those of two merges.
    ///
    /// If the ops of a save have to read something, the missed saves are merged first, and then the
    /// save itself.
    private func findProblemsInTwo(
        _ shape: ListShape, _ before: Dump, _ events: [JSON]
    ) throws -> [String] {
        func isMissed(_ event: JSON) -> Bool { event["position"]?.int ?? 0 < position }
        return try findProblems(shape, before, previous, events.filter(isMissed))
            + findProblems(shape, previous, graph.dump, events.filter { !isMissed($0) })
    }

    private func findProblems(
        _ shape: ListShape, _ before: Dump, _ after: Dump, _ events: [JSON]
    ) throws -> [String] {
        guard let old = before.table(shape), let new = after.table(shape) else {
            return ["sections are out of order"]
        }
        let stay = Set(old.flatMap(\.rows)).intersection(new.flatMap(\.rows))
        let step = TableStep(
            old: old, new: new,
            changed: stay.filter { before.shown($0, shape) != after.shown($0, shape) },
            loose: stay.filter { before.place($0, shape) != after.place($0, shape) })
        switch try BridgeViewers.change(events) {
        case .failure(let refusal): return [refusal.code]
        case .success(let change): return step.problems(change)
        }
    }

    /// Compares the shown list with a newly opened one and with a fetch.
    private func compare(
        _ viewer: BridgeViewer, _ name: String, _ shape: ListShape
    ) throws -> [String] {
        let expected = graph.dump.table(shape)
        var problems: [String] = []
        let shown = try viewer.sections(name)
        if (try? shown.get()) != expected { problems.append("shown \(shown)") }
        let fresh = try viewer.open("fresh", request(shape, isList: true))
        if fresh != expected { problems.append("opened anew \(fresh)") }
        try viewer.bridge.ask(#"{"do": "close", "controller": "fresh"}"#)
        let fetched = try viewer.bridge.ask(
            #"{"do": "fetch", "context": "\#(viewer.context)", \#(request(shape, isList: false))}"#)
        let ids = try fetched.ids.map { try BridgeTable.number(.string($0)) }
        if ids != expected?.flatMap(\.rows) { problems.append("fetched \(ids)") }
        return problems
    }
}
