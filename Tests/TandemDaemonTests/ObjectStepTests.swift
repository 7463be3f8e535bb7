import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// What is read by reference in steps between which others save is what is read at the end.
@Suite(.ownThread) struct ObjectStepTests {
    /// Some objects, and members of others with their rows.
    private func read(
        _ bench: CommitBench, _ random: inout SplitMix64, at position: UInt64 = 0
    ) throws -> Read {
        let numbers = (UInt64(1)...60).shuffled(using: &random)
        let objects = try numbers.map { try bench.reference("Node", $0) }
            .filter { try bench.store.stored($0) != nil }.prefix(12)
        let owners = try numbers.flatMap { number in
            try ["Group", "Tag"].map { try bench.reference($0, number) }
        }.filter { try bench.store.stored($0) != nil }
        let lists = try owners.map { owner in
            let entity = try bench.model.entity(tagged: owner.tag)
            return MemberRequest(owner: owner, slot: try #require(entity?.slot(of: "nodes")))
        }
        return Read(
            objects: Array(objects), members: lists, modelVersion: try bench.model.version,
            at: position, memberRows: Bool.random(using: &random))
    }

    private func read(_ read: Read, _ graph: RandomGraph) throws -> ReadUnderWay {
        try ReadUnderWay(
            .read(read), nil, at: read.at, id: 1, in: try graph.bench.model, graph.bench.committer)
    }

    @Test(arguments: [false, true])
    func `law 4: objects and members in steps of a few are what they are at one position`(
        isPast: Bool
    ) throws {
        for round in UInt64(0)..<6 {
            var random = SplitMix64(seed: seed &+ round)
            var graph = try RandomGraph(seed: seed &+ 600 &+ round)
            for _ in 0..<40 { try graph.step() }
            for _ in 0..<8 {
                var read = try read(graph.bench, &random)
                if isPast {
                    read.at = graph.bench.committer.position
                    for _ in 0..<4 { try graph.step() }
                }
                let percent = Int.random(in: 0...40, using: &random)
                let way = try graph.inSteps(
                    try self.read(read, graph), &random, savingPercent: percent)
                let found = try #require(way.objects).answer
                let whole = try #require(graph.atOnce(try self.read(read, graph)).objects).answer
                #expect(isPast ? found.isSame(as: whole) : found == whole, "seed \(seed) \(round)")
            }
        }
    }

    // MARK: Turns

    private func turns(
        isAltered: Bool, memberRows: Bool
    ) throws -> (turns: Int, answer: Objects?, end: UInt64) {
        let bench = try EngineBench.ofSmallTurns()
        let group = try bench.bench.reference("Group", 1)
        try bench.bench.save([try bench.bench.insert("Group", 1, ["title": .string("g")])])
        try bench.bench.save(
            try (2..<402).map { try bench.bench.insert("Node", $0, ["group": .reference(group)]) })
        let slot = try #require(try bench.bench.entity("Group").slot(of: "nodes"))
        let nodes = try (UInt64(2)..<402).map { try bench.bench.reference("Node", $0) }
        let read = Read(
            objects: memberRows ? [] : nodes, members: [MemberRequest(owner: group, slot: slot)],
            modelVersion: try bench.bench.model.version, memberRows: memberRows)
        let (turns, answer) = try bench.turns(.read(read)) { turn in
            isAltered
                ? try bench.bench.update("Node", 2, ["rank": .int(Int64(turn))])
                : try bench.bench.insert("Group", UInt64(10_000 + turn), [:])
        }
        #expect(bench.engine.readBytes == 0)
        guard case .objects(let found) = answer else {
            return (turns, nil, bench.position.number)
        }
        return (turns, found, bench.position.number)
    }

    @Test(arguments: [false, true])
    func `law 7: saves get positions while objects or the rows of members are read`(
        memberRows: Bool
    ) throws {
        let (turns, answer, end) = try turns(isAltered: false, memberRows: memberRows)
        #expect(turns >= 400 / 10 - 2 && turns < 100, "\(turns)")
        #expect(answer?.objects.count == 400 && answer?.members.first?.members.count == 400)
        #expect(answer?.position == end)
    }

    @Test func `law 7: what others alter faster than it is read is read all the same`() throws {
        let (turns, answer, end) = try turns(isAltered: true, memberRows: true)
        #expect(turns < 200, "\(turns)")
        #expect(answer?.objects.count == 400 && answer?.position == end)
    }
}

extension Objects {
    /// Whether both have the same values, in whatever order members come, and with the versions of what there is or was.
    fileprivate func isSame(as other: Objects) -> Bool {
        let (mine, its) = (objects.byNumber, other.objects.byNumber)
        return mine.map(\.object) == its.map(\.object) && mine.map(\.row) == its.map(\.row)
            && missing == other.missing && members.map(\.owner) == other.members.map(\.owner)
            && members.map { Set($0.members) } == other.members.map { Set($0.members) }
    }
}

extension [StoredObject] {
    fileprivate var byNumber: [StoredObject] { sorted { $0.object < $1.object } }
}
