import Glibc
import TandemModel
import TestSupport
import TestWorlds
import Testing

/// Many small lists in one daemon, each in a box of its own, and the changes that viewers receive
/// in four ways.
final class BridgeSmallLists {
    /// The state of one list as last seen by one viewer.
    private struct Seen {
        /// The rows when the list was last in order.
        var base: [UInt64: SmallRow] = [:]
        var isFailing = false
    }

    private static let boxes = 60
    private static let model = """
        {"entities": {"Item": {"attributes": {"box": {"type": "int"}, "key": {"type": "int"},
        "section": {"type": "string"}, "value": {"type": "int"}}, "indexes": [["box", "key"]]}}}
        """

    private let daemon: BridgedDaemon
    private let all: BridgeViewers
    private var writer: BridgeViewer { all.viewers[0] }
    private var random: SplitMix
    /// The rows of each box.
    private var rows = [[UInt64: SmallRow]](repeating: [:], count: boxes)
    private var seen: [BridgeViewer.Way: [Seen]] = [:]
    private var saves = 0

    init(_ random: SplitMix) throws {
        self.random = random
        daemon = try BridgedDaemon()
        all = try BridgeViewers(daemon)
        try writer.bridge.ask(#"{"do": "schema", "apply": \#(Self.model)}"#)
        for viewer in all.viewers {
            seen[viewer.way] = Array(repeating: Seen(), count: Self.boxes)
            for box in 0..<Self.boxes {
                try viewer.open(
                    viewer.name(box),
                    #"""
                    "entity": "Item", "where": "box == \#(box)", "sort": ["key"], "sections": "section"
                    """#)
            }
        }
    }

    func end() throws {
        for at in [0, 2] { #expect(try all.viewers[at].bridge.finish() == .exited(0)) }
        #expect(daemon.daemon.end(SIGTERM) == 0)
    }

    /// Plays the cases, one per box at a time; stops at the first problems and returns them.
    func problems(_ cases: [SmallCase]) throws -> [String] {
        var rest = cases[...]
        while !rest.isEmpty {
            let round = Array(rest.prefix(Self.boxes))
            rest = rest.dropFirst(round.count)
            var problems = try step(round.enumerated().map { box, one in reset(box, to: one.rows) })
            // The numbers of each box's rows, in the order of its list.
            let places = round.indices.map { box in
                rows[box].keys.sorted {
                    (rows[box][$0]?.key ?? 0, $0) < (rows[box][$1]?.key ?? 0, $1)
                }
            }
            problems += try step(
                round.enumerated().map { box, one in
                    one.edits.map { op($0, box, places[box]) }
                })
            if !problems.isEmpty { return problems.map { "\($0) in \(round)" } }
        }
        return try lists(all.viewers)
    }

    // MARK: Saving

    private enum Op {
        case insert(SmallRow)
        case update(UInt64, SmallRow)
        case delete(UInt64)
    }

    /// Returns the ops that make a box contain a list.
    ///
    /// Rows are reused in random order, so that their numbers say nothing about their indices.
    private func reset(_ box: Int, to list: [SmallRow]) -> [Op] {
        let numbers = rows[box].keys.sorted().shuffled(using: &random)
        return zip(numbers, list).map { .update($0, $1) }
            + list.dropFirst(numbers.count).shuffled(using: &random).map { .insert($0) }
            + numbers.dropFirst(list.count).map { .delete($0) }
    }

    private func op(_ edit: SmallEdit, _ box: Int, _ places: [UInt64]) -> Op {
        switch edit {
        case .delete(let place): .delete(places[place])
        case .insert(let row): .insert(row)
        case .set(let place, let row): .update(places[place], row)
        }
    }

    /// Saves the ops of all boxes as one transaction, and returns the problems in the reported
    /// changes.
    private func step(_ ops: [[Op]]) throws -> [String] {
        var texts: [String] = []
        var fresh: [(alias: String, box: Int, row: SmallRow)] = []
        for (box, ops) in ops.enumerated() {
            for op in ops {
                switch op {
                case .delete(let number):
                    rows[box][number] = nil
                    texts.append(#"{"delete": "Item/\#(number)"}"#)
                case .update(let number, let row):
                    rows[box][number] = row
                    texts.append(#"{"update": "Item/\#(number)", "set": \#(text(row, box))}"#)
                case .insert(let row):
                    let alias = "n\(fresh.count)"
                    fresh.append((alias, box, row))
                    texts.append(
                        #"{"insert": "Item", "as": "\#(alias)", "set": \#(text(row, box))}"#)
                }
            }
        }
        let answer = try writer.bridge.ask(
            #"{"do": "save", "ops": [\#(texts.joined(separator: ", "))]}"#)
        for one in fresh {
            rows[one.box][try BridgeTable.number(answer["objects"]?[one.alias])] = one.row
        }
        saves += 1
        return try check(try #require(answer["position"]?.int))
    }

    private func text(_ row: SmallRow, _ box: Int) -> String {
        #"""
        {"box": \#(box), "key": \#(row.key), "section": "\#(row.section)", "value": \#(row.value)}
        """#
    }

    // MARK: Checking

    private func check(_ position: Int64) throws -> [String] {
        var reached: [BridgeViewer] = []
        for viewer in all.viewers where viewer.way != .late || saves % 3 == 0 {
            try viewer.reach(position)
            reached.append(viewer)
        }
        var problems: [String] = []
        for viewer in reached {
            for box in rows.indices {
                let events = all.drain(viewer.name(box))
                let found = try check(viewer, box, events)
                problems += found.map { "\(viewer.name(box)): \($0); told \(events.map(\.text))" }
            }
        }
        if saves % 16 == 0 { problems += try lists(reached) }
        return problems
    }

    private func check(_ viewer: BridgeViewer, _ box: Int, _ events: [JSON]) throws -> [String] {
        guard var known = seen[viewer.way]?[box] else { return ["nobody looks"] }
        defer { seen[viewer.way]?[box] = known }
        guard SmallLists.sections(rows[box]) != nil else {
            let kinds = events.map { $0["event"]?.string }
            let isRight = kinds == (known.isFailing ? [] : ["failure"])
            known.isFailing = true
            return isRight ? [] : ["sections are out of order: \(kinds)"]
        }
        guard var step = TableStep(known.base, rows[box]) else { return ["no step"] }
        // Rows that changed while the list was out of order may be reported, even if they are back
        // in their places. The recovery itself is always reported.
        if known.isFailing {
            if events.count != 1 { return ["\(events.count) events for a recovery"] }
            step.mayReport = Set(rows[box].keys)
        }
        known = Seen(base: rows[box])
        switch try BridgeViewers.change(events) {
        case .failure(let refusal): return [refusal.code]
        case .success(let change): return step.problems(change)
        }
    }

    /// Compares the viewers' lists with independently computed ones, and a fetch with the rows.
    private func lists(_ viewers: [BridgeViewer]) throws -> [String] {
        var problems: [String] = []
        for viewer in viewers {
            for box in rows.indices {
                let shown = try viewer.sections(viewer.name(box))
                let isFailing = seen[viewer.way]?[box].isFailing ?? false
                // A viewer that missed saves shows the state after its last merge.
                let expected = viewer.way == .late ? seen[viewer.way]?[box].base : rows[box]
                let right: Result<[TableSection], BridgeRefusal> =
                    isFailing
                    ? .failure(BridgeRefusal("outOfOrderSection"))
                    : .success(expected.flatMap(SmallLists.sections) ?? [])
                if shown != right { problems.append("\(viewer.name(box)) shows \(shown)") }
            }
            guard viewer.way != .late else { continue }
            let fetched = try viewer.bridge.ask(
                #"""
                {"do": "fetch", "entity": "Item", "sort": ["box", "key"], "context": "\#(viewer.context)"}
                """#)
            let flat = rows.flatMap { box in
                box.sorted { ($0.value.key, $0.key) < ($1.value.key, $1.key) }.map(\.key)
            }
            if try fetched.ids.map({ try BridgeTable.number(.string($0)) }) != flat {
                problems.append("\(viewer.way) fetches something else")
            }
        }
        return problems
    }
}
