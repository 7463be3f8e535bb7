import TandemModel
import TandemStore
import TandemWire
import Testing

@testable import TandemDaemon

@Suite(.ownThread) struct RepeatTests {
    private let hash = StableHash([1])

    /// Returns a bench with Node 10 (code "k") and Node 20 with its child 21.
    private func bench() throws -> CommitBench {
        let bench = try CommitBench()
        try bench.save([
            try bench.insert("Node", 10, ["code": .string("k"), "name": .string("old")]),
            try bench.insert("Node", 20),
            try bench.insert("Node", 21, ["parent": .reference(try bench.reference("Node", 20))]),
        ])
        return bench
    }

    /// Returns operations with five inserts and a deletion of an existing object.
    ///
    /// An existing object takes the place of the first insert. The save deletes the third inserted
    /// object, and the fourth by a cascade; the second and the last are kept.
    private func operations(_ bench: CommitBench, from number: UInt64) throws -> [SaveOperation] {
        [
            try bench.insert(
                "Node", number, ["code": .string("k"), "name": .string("new")]),
            try bench.insert("Node", number + 1), try bench.insert("Node", number + 2),
            try bench.insert(
                "Node", number + 3, ["parent": .reference(try bench.reference("Node", 20))]),
            try bench.insert(
                "Badge", number + 4, ["owner": .reference(try bench.reference("Node", number))]),
            try bench.delete("Node", number + 2), try bench.delete("Node", 20),
        ]
    }

    private func check(
        _ again: SaveAnswer, _ first: SaveAnswer, _ what: String,
        place: SourceLocation = #_sourceLocation
    ) {
        var expected = first
        expected.isRepeat = true
        #expect(again == expected, "\(what)", sourceLocation: place)
    }

    @Test func `law 3: a repeat gets the first answer, whatever happened to the inserted objects`()
        throws
    {
        for policy in MergePolicy.allCases where policy != .error {
            let bench = try bench()
            let first = try bench.save(
                try operations(bench, from: 100), policy: policy, id: [1], hash: hash)
            #expect(first.inserted.map { $0?.number } == [10, 101, nil, nil, 104])
            // The objects that took the places of inserts are changed or deleted, and others take
            // their values.
            try bench.save([try bench.delete("Node", 10)])
            try bench.save([try bench.insert("Node", 200, ["code": .string("k")])])
            let before = try dump(bench.store)
            for round in UInt64(0)..<4 {
                if round == 1 { try bench.crash() }
                if round == 2 { try bench.committer.checkpoint() }
                if round == 3 { try bench.crash() }
                // Another process has other object numbers.
                let again = try bench.save(
                    try operations(bench, from: 300 + 10 * round), policy: policy, id: [1],
                    hash: hash)
                check(again, first, "\(policy) \(round)")
            }
            let position = bench.committer.position
            #expect(try dump(bench.store) == before)
            #expect(position == first.position + 2)
        }
    }

    @Test func `law 3: inserts in any order of numbers are answered in the request's order`() throws
    {
        let bench = try bench()
        let operations = try [40, 30, 50].map { try bench.insert("Node", UInt64($0)) }
        let first = try bench.save(operations, id: [1], hash: hash)
        #expect(first.inserted.map { $0?.number } == [40, 30, 50])
        try bench.crash()
        check(try bench.save(operations, id: [1], hash: hash), first, "after a crash")
    }

    @Test func `law 3: a repeat needs no segment of the journal`() throws {
        let bench = try bench()
        let first = try bench.save(
            try operations(bench, from: 100), policy: .overwrite, id: [1], hash: hash)
        let text = PropertyValue.string(String(repeating: "x", count: 4_000))
        for number in UInt64(1_000)..<1_100 {
            try bench.save([try bench.insert("Node", number, ["name": text])])
        }
        try bench.committer.checkpoint()
        try bench.committer.journal.trim(below: bench.committer.position)
        #expect(bench.committer.journal.bounds.first > first.position)
        try bench.crash()
        let again = try bench.save(
            try operations(bench, from: 2_000), policy: .overwrite, id: [1], hash: hash)
        check(again, first, "trimmed")
    }

    @Test
    func `law 3: a save id belongs to a user, and different content under the same id is refused`()
        throws
    {
        let bench = try bench()
        let first = try bench.save([try bench.insert("Tag", 50)], id: [1], hash: hash, uid: 1)
        let other = try bench.save([try bench.insert("Tag", 51)], id: [1], hash: hash, uid: 2)
        #expect(!other.isRepeat && other.position == first.position + 1)
        for isCrashed in [false, true] {
            if isCrashed { try bench.crash() }
            for (operations, hash) in [
                ([try bench.insert("Tag", 60)], StableHash([2])), ([], hash),
                ([try bench.insert("Tag", 61), try bench.insert("Tag", 62)], hash),
            ] {
                let error = #expect(throws: TandemError.self) {
                    try bench.save(operations, id: [1], hash: hash, uid: 1)
                }
                #expect(error?.code == .usage)
            }
        }
    }

    @Test func `law 3: a query for a save's outcome changes nothing, and returns the first answer`()
        throws
    {
        let bench = try bench()
        let question = SaveRequest(
            saveID: [1], contentHash: hash, modelVersion: 1, operations: [], onlyAsks: true)
        let unknown = try bench.save(question)
        #expect(unknown == SaveAnswer(position: bench.committer.position, wrote: false))
        // A query does not use up the id.
        let first = try bench.save([try bench.insert("Tag", 50)], id: [1], hash: hash)
        #expect(!first.isRepeat)
        check(try bench.save(question), first, "asked")
        let other = SaveRequest(
            saveID: [1], contentHash: StableHash([9]), modelVersion: 1, operations: [],
            onlyAsks: true)
        #expect(throws: TandemError.self) { try bench.save(other) }
    }

    // MARK: Saves without effect

    @Test func `law 3: a save without effect is remembered, even if it would have one later`()
        throws
    {
        let bench = try bench()
        let base = try bench.version("Node", 10)
        try bench.save([try bench.update("Node", 10, ["rank": .int(9)])])
        let position = bench.committer.position
        let saves: [(MergePolicy, [SaveOperation])] = [
            (.rollback, [try bench.update("Node", 10, ["rank": .int(3)], version: base)]),
            (.storeTrump, [try bench.insert("Node", 60, ["code": .string("k")])]),
            (.error, [try bench.insert("Node", 61), try bench.delete("Node", 61)]),
            (.error, []),
        ]
        let firsts = try saves.enumerated().map {
            try bench.save($1.1, policy: $1.0, id: [UInt8($0)], hash: hash)
        }
        #expect(firsts.allSatisfy { !$0.wrote && $0.position == position })
        #expect(firsts.map { $0.inserted.map { $0?.number } } == [[], [10], [nil], []])
        // An answered save is durable even if nothing else has caused a checkpoint.
        try bench.crash()
        try bench.save([try bench.delete("Node", 10)])
        let before = try dump(bench.store)
        for isCrashed in [false, true] {
            if isCrashed { try bench.crash() }
            for (index, save) in saves.enumerated() {
                let again = try bench.save(
                    save.1, policy: save.0, id: [UInt8(index)], hash: hash)
                check(again, firsts[index], "\(index)")
                let error = #expect(throws: TandemError.self) {
                    try bench.save([], id: [UInt8(index)], hash: StableHash([8]))
                }
                #expect(error?.code == .usage)
            }
        }
        #expect(try dump(bench.store) == before)
        #expect(bench.committer.position == position + 1)
    }

    @Test func `law 3: repeats within one batch and across a crash get one answer`() throws {
        let bench = try CommitBench()
        let empty = SaveRequest(saveID: [1], contentHash: hash, modelVersion: 1, operations: [])
        let one = SaveRequest(
            saveID: [2], contentHash: hash, modelVersion: 1,
            operations: [try bench.insert("Node", 1)])
        var answers: [SaveAnswer] = []
        for request in [empty, one, empty, one] {
            switch try bench.committer.begin(request, by: Principal(uid: 7)) {
            case .planned(let saved), .answered(let saved): answers.append(saved)
            }
        }
        check(answers[2], answers[0], "empty")
        check(answers[3], answers[1], "one")
        let text = PropertyValue.string(String(repeating: "x", count: 60_000))
        let large = try (10..<20).map { try bench.insert("Node", $0, ["name": text]) }
        _ = try bench.committer.begin(
            SaveRequest(saveID: [3], contentHash: hash, modelVersion: 1, operations: large),
            by: Principal(uid: 7))
        try bench.committer.flush()
        try bench.crash()
        check(try bench.save(empty), answers[0], "empty, after a crash")
        check(try bench.save(one), answers[1], "one, after a crash")
        #expect(bench.committer.position == 3)
    }

    // MARK: The floor

    @Test func `law 3: a save without effect is known as long as its repeat is accepted`() throws {
        let bench = try CommitBench(savesKept: 5)
        try bench.save([try bench.insert("Node", 1)])
        let sentAt = bench.committer.position
        let empty = [try bench.insert("Node", 2), try bench.delete("Node", 2)]
        let first = try bench.save(empty, id: [1], hash: hash)
        #expect(!first.wrote && first.position == sentAt)
        for number in UInt64(10)..<15 {
            try bench.save([try bench.insert("Tag", number)])
            try bench.crash()
            let again = try bench.save(empty, id: [1], hash: hash, firstSentAt: sentAt)
            check(again, first, "at \(bench.committer.position)")
        }
        try bench.save([try bench.insert("Tag", 15)])
        let error = #expect(throws: TandemError.self) {
            try bench.save(empty, id: [1], hash: hash, firstSentAt: sentAt)
        }
        #expect(error?.code == .unknownOutcome)
    }

    @Test func `law 3: a repeat from below the floor of ids is an unknown outcome`() throws {
        let bench = try CommitBench(savesKept: 5)
        try bench.save([try bench.insert("Tag", 1)], id: [1], hash: hash)
        #expect(bench.store.saveFloor == 0)
        for number in UInt64(2)...9 { try bench.save([try bench.insert("Tag", number)]) }
        // Position 2 was the first save's; 6 to 10 are kept.
        for isCrashed in [false, true] {
            if isCrashed { try bench.crash() }
            #expect(bench.store.saveFloor == 6)
            for (sentAt, isKnown) in [(UInt64(1), false), (4, false), (5, true), (9, true)] {
                let operations = [try bench.insert("Tag", 100)]
                let request = SaveRequest(
                    saveID: [1], contentHash: hash, modelVersion: 1, operations: operations,
                    onlyAsks: isKnown,
                    firstSentAt: sentAt)
                if isKnown {
                    #expect(try !bench.save(request).isRepeat)
                } else {
                    let error = #expect(throws: TandemError.self) { try bench.save(request) }
                    #expect(error?.code == .unknownOutcome, "\(sentAt)")
                }
            }
        }
        #expect(bench.committer.position == 10)
        // The floor does not drop if more saves are kept from now on.
        #expect(try bench.save([try bench.insert("Tag", 100)], id: [1], firstSentAt: 5).wrote)
    }
}
