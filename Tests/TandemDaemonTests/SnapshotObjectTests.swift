import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// Reads by reference from a snapshot, which return the state at its position.
@Suite(.ownThread) struct SnapshotObjectTests {
    /// Returns a read of some objects, and of members of others with their rows.
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

    @Test(arguments: [false, true])
    func `law 4: objects and members are of one position, whatever is saved meanwhile`(
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
                let message = ClientMessage.read(read)
                let before = isPast ? try graph.bench.answer(message).objects : nil
                let (answer, expected) = try graph.inSnapshot(message, &random) {
                    try $0.answer(message).objects
                }
                let found = try answer.objects
                #expect(found == expected, "seed \(seed) \(round)")
                if let before { #expect(found.isSame(as: before), "seed \(seed) \(round)") }
            }
        }
    }

    // MARK: Concurrent saves

    @Test(arguments: [false, true], [false, true])
    func `law 7: saves are committed while objects or the rows of members are read`(
        isAltered: Bool, memberRows: Bool
    ) throws {
        let bench = try EngineBench.ofReaders(engineClock: ManualClock())
        try bench.insertNodes(400, isGrouped: true)
        let group = try bench.bench.reference("Group", 1)
        let slot = try #require(try bench.bench.entity("Group").slot(of: "nodes"))
        let nodes = try (UInt64(2)..<402).map { try bench.bench.reference("Node", $0) }
        let read = Read(
            objects: memberRows ? [] : nodes, members: [MemberRequest(owner: group, slot: slot)],
            modelVersion: try bench.bench.model.version, memberRows: memberRows)
        let (answer, asked) = try bench.holding(.read(read), turns: 30) { turn in
            isAltered
                ? try bench.bench.update("Node", 2, ["rank": .int(Int64(turn))])
                : try bench.bench.delete("Node", UInt64(3 + turn))
        }
        let found = try answer.objects
        #expect(found.objects.count == 400 && found.members.first?.members.count == 400)
        #expect(found.position == asked && found.objects.allSatisfy { $0.version <= asked })
        #expect(bench.position.number == asked + 30 && bench.engine.reads.bytes.held == 0)
    }
}

extension ReadAnswer {
    /// Returns whether both have the same values and plausible versions, regardless of the members'
    /// order.
    fileprivate func isSame(as other: ReadAnswer) -> Bool {
        let (mine, its) = (objects.byNumber, other.objects.byNumber)
        return mine.map(\.object) == its.map(\.object) && mine.map(\.row) == its.map(\.row)
            && missing == other.missing && members.map(\.owner) == other.members.map(\.owner)
            && members.map { Set($0.members) } == other.members.map { Set($0.members) }
    }
}

extension [StoredObject] {
    fileprivate var byNumber: [StoredObject] { sorted { $0.object < $1.object } }
}
