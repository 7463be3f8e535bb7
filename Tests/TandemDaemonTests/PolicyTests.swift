import TandemModel
import TandemStore
import TandemWire
import Testing

@testable import TandemDaemon

@Suite(.ownThread) struct PolicyTests {
    /// Returns a bench with a node that two clients know at version 2; one of them has saved name
    /// and rank at version 3.
    private func conflicted() throws -> CommitBench {
        let bench = try CommitBench()
        try bench.save([
            try bench.insert("Node", 1, ["name": .string("base"), "rank": .int(1)])
        ])
        try bench.save([
            try bench.update("Node", 1, ["name": .string("theirs")], version: 2)
        ])
        #expect(try bench.version("Node", 1) == 3)
        return bench
    }

    private func mine(_ bench: CommitBench) throws -> SaveOperation {
        try bench.update(
            "Node", 1, ["name": .string("mine"), "rank": .int(5)], version: 2,
            base: ["name": .string("base"), "rank": .int(1)])
    }

    @Test func `error returns the conflict with their row and writes nothing`() throws {
        let bench = try conflicted()
        let before = try dump(bench.store)
        let error = try bench.refusal([
            try mine(bench), try bench.insert("Node", 2, ["name": .string("other")]),
        ])
        #expect(error?.code == .conflict)
        let conflict = try #require(error?.conflicts.first)
        #expect(error?.conflicts.count == 1)
        #expect(conflict.object == (try bench.reference("Node", 1)))
        #expect(conflict.baseVersion == 2)
        #expect(conflict.theirsVersion == 3)
        let stored = try bench.store.stored(conflict.object)
        #expect(conflict.theirs == stored?.row)
        #expect(try dump(bench.store) == before)
    }

    @Test func `the other policies resolve by property, as a whole, or not at all`() throws {
        for (policy, name, rank) in [
            (MergePolicy.storeTrump, "theirs", Int64(5)), (.objectTrump, "mine", 5),
            (.overwrite, "mine", 5), (.rollback, "theirs", 1),
        ] {
            let bench = try conflicted()
            let saved = try bench.save(
                [try mine(bench), try bench.insert("Node", 2)], policy: policy)
            #expect(saved.wrote)
            #expect(try bench.value("Node", 1, "name") == .string(name), "\(policy)")
            #expect(try bench.value("Node", 1, "rank") == .int(rank), "\(policy)")
            #expect(try bench.exists("Node", 2))
        }
    }

    @Test func `a deletion of an object that others changed is resolved by the policy`() throws {
        for policy in MergePolicy.allCases {
            let bench = try conflicted()
            let error = try bench.refusal(
                [try bench.delete("Node", 1, version: 2)], policy: policy)
            #expect((error?.code == .conflict) == (policy == .error))
            let stays = [.error, .storeTrump, .rollback].contains(policy)
            #expect(try bench.exists("Node", 1) == stays, "\(policy)")
        }
    }

    @Test func `an update of an object that others deleted is a conflict or dropped`() throws {
        for policy in MergePolicy.allCases {
            let bench = try conflicted()
            try bench.save([try bench.delete("Node", 1)])
            let error = try bench.refusal(
                [try mine(bench), try bench.insert("Node", 2)], policy: policy)
            #expect((error?.code == .conflict) == (policy == .error), "\(policy)")
            #expect(try !bench.exists("Node", 1))
            #expect(try bench.exists("Node", 2) == (policy != .error))
            // Deleting a deleted object again succeeds.
            #expect(try bench.refusal([try bench.delete("Node", 1, version: 2)]) == nil)
        }
    }

    @Test func `links that others changed cause no conflict`() throws {
        let bench = try conflicted()
        try bench.save([
            try bench.update("Node", 1, version: 3),
            try bench.insert("Tag", 5, links: ["nodes": [try bench.reference("Node", 1)]]),
        ])
        #expect(try bench.version("Node", 1) == 3)
        try bench.save([try bench.update("Node", 1, ["rank": .int(2)], version: 3)])
    }

    // MARK: Uniqueness

    @Test func `if two objects become one, the existing one keeps its id and links follow`() throws
    {
        for policy in MergePolicy.allCases where policy != .error {
            let bench = try CommitBench()
            try bench.save([
                try bench.insert("Node", 10, ["code": .string("k"), "name": .string("old")])
            ])
            let (new, old) = (try bench.reference("Node", 11), try bench.reference("Node", 10))
            let saved = try bench.save(
                [
                    try bench.insert("Node", 11, ["code": .string("k"), "name": .string("new")]),
                    try bench.insert("Badge", 12, ["owner": .reference(new)]),
                    try bench.insert("Tag", 13, links: ["nodes": [new]]),
                ], policy: policy)
            #expect(saved.inserted.map { $0?.number } == [old.number, 12, 13])
            #expect(try !bench.exists("Node", 11))
            #expect(try bench.value("Badge", 12, "owner") == .reference(old))
            #expect(try bench.members("Node", 10, "tags") == [13])
            let takesValues = policy == .objectTrump || policy == .overwrite
            let name = PropertyValue.string(takesValues ? "new" : "old")
            #expect(try bench.value("Node", 10, "name") == name, "\(policy)")
        }
    }

    @Test func `under the policy error a taken value is refused and named`() throws {
        let bench = try CommitBench()
        try bench.save([try bench.insert("Node", 10, ["code": .string("k")])])
        let before = try dump(bench.store)
        let error = try bench.refusal([
            try bench.insert("Node", 11, ["code": .string("k")]),
            try bench.insert("Leaf", 12, ["code": .string("k")]),
        ])
        #expect(error?.code == .uniqueness)
        #expect(error?.problems.map { $0.object.number } == [11, 12])
        #expect(error?.problems.allSatisfy { $0.property == "code" } == true)
        #expect(try dump(bench.store) == before)
    }

    @Test func `duplicates of two new objects or of an existing one are always refused`() throws {
        for policy in MergePolicy.allCases {
            let bench = try CommitBench()
            try bench.save([
                try bench.insert("Node", 10, ["code": .string("k")]),
                try bench.insert("Node", 11, ["code": .string("l")]),
            ])
            let before = try dump(bench.store)
            for operations in [
                [
                    try bench.insert("Node", 12, ["code": .string("m")]),
                    try bench.insert("Leaf", 13, ["code": .string("m")]),
                ], [try bench.update("Node", 11, ["code": .string("k")])],
            ] {
                #expect(try bench.refusal(operations, policy: policy)?.code == .uniqueness)
            }
            #expect(try dump(bench.store) == before)
        }
    }

    @Test func `values swap, move on and are freed by deletion within one save`() throws {
        let bench = try CommitBench()
        try bench.save(
            try (1...3).map { try bench.insert("Node", $0, ["code": .string("\($0)")]) })
        try bench.save([
            try bench.update("Node", 1, ["code": .string("2")]),
            try bench.update("Node", 2, ["code": .string("3")]),
            try bench.update("Node", 3, ["code": .string("1")]),
        ])
        try bench.save([
            try bench.insert("Node", 4, ["code": .string("3")]), try bench.delete("Node", 2),
        ])
        let saved = try bench.save(
            [
                try bench.insert("Node", 5, ["code": .string("1")]),
                try bench.update("Node", 3, ["code": .null]),
            ], policy: .objectTrump)
        #expect(saved.inserted.map { $0?.number } == [5])
        #expect(try bench.value("Node", 4, "code") == .string("3"))
        #expect(try bench.value("Node", 5, "code") == .string("1"))
    }

    @Test func `a new object with a lower number merges into one that the save writes too`() throws
    {
        let bench = try CommitBench()
        try bench.save([try bench.insert("Node", 20, ["code": .string("k")])])
        // As under `overwrite`: every value is sent, with the code unchanged.
        let saved = try bench.save(
            [
                try bench.insert("Node", 10, ["code": .string("k"), "name": .string("new")]),
                try bench.update("Node", 20, ["code": .string("k"), "rank": .int(7)]),
            ], policy: .overwrite)
        #expect(saved.inserted.map { $0?.number } == [20])
        #expect(try bench.value("Node", 20, "rank") == .int(7))
        #expect(try bench.value("Node", 20, "name") == .string("new"))
    }
}
