import FoundationEssentials
import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import Testing

@testable import TandemDaemon

/// Saves that contradict the model: they are refused or valid, and no other client is harmed.
@Suite(.ownThread) struct ContradictionTests {
    private let bench: EngineBench
    private let honest: Peer
    private let hostile: Peer
    private let model: CompiledModel
    /// Numbers of the hostile client's lease, each used once.
    private let lease: Lease

    init() throws {
        bench = try EngineBench()
        honest = try bench.client(Hello(author: "honest", interests: ["Node"]))
        hostile = try bench.client(Hello(author: "hostile"))
        model = try hostile.model
        lease = try #require(hostile.welcome?.lease)
        try honest.save([
            try bench.bench.insert("Node", 1), try bench.bench.insert("Tag", 2),
            try bench.bench.insert("Group", 3), try bench.bench.insert("Leaf", 4),
        ])
    }

    /// One value of every kind, including unusual ones.
    private static let values: [PropertyValue] = [
        .null, .bool(true), .int(.min), .int(200), .double(.nan), .double(-.infinity), .date(.nan),
        .date(.infinity), .decimal(1), .string(""), .string("\0"),
        .string(String(repeating: "x", count: 65_537)), .data([]), .uuid(UUID()), .url("\n"),
        .reference(ObjectReference(tag: 1, number: 1)),
        .reference(ObjectReference(tag: 0, number: 0)),
        .reference(ObjectReference(tag: .max, number: .max)),
        .reference(ObjectReference(tag: 4, number: 999_999)),
        .blob(BlobReference(of: [UInt8](repeating: 1, count: 70_000))),
    ]

    /// Sends a save and requires an answer, which may be a failure.
    private func attempt(_ request: SaveRequest) throws {
        switch try hostile.ask(.save(request)) {
        case .saved: break
        case .failure(let error): #expect(!error.description.isEmpty)
        case let other: Issue.record("another answer: \(other)")
        }
        #expect(!hostile.isClosed)
    }

    private func attempt(_ operations: [SaveOperation], _ policy: MergePolicy = .error) throws {
        try attempt(hostile.saveRequest(operations, policy: policy))
    }

    /// Checks that the honest client still works, and that the store is sound and equals its
    /// journal's state.
    private func checkAll() throws {
        let before = honest.pushes.count
        try honest.save([try bench.bench.update("Node", 1, ["rank": .int(7)])])
        #expect(honest.pushes.count > before)
        #expect(try bench.bench.store.check().isClean)
        let expected = try dump(bench.bench.store)
        try bench.crash()
        #expect(try dump(bench.bench.store) == expected)
    }

    @Test func `law 7: every value in every slot of every entity is accepted or refused`() throws {
        var number = lease.first
        for entity in model.entities {
            for slot in 0..<(entity.properties.count + 2) {
                for value in Self.values {
                    let object = ObjectReference(tag: entity.tag, number: number)
                    number += 1
                    let item = SlotValue(slot: slot, value: value)
                    try attempt([.insert(object: object, values: [item], links: [])])
                }
            }
        }
        try checkAll()
    }

    @Test func `law 7: every value in every slot of an update is accepted or refused`() throws {
        for name in ["Node", "Leaf", "Tag"] {
            let object = try bench.bench.reference(name, name == "Node" ? 1 : name == "Tag" ? 2 : 4)
            for slot in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 127] {
                for (index, value) in Self.values.enumerated() {
                    let base = Self.values[(index + slot) % Self.values.count]
                    let item = SaveValue(
                        slot: slot, value: value, base: index % 2 == 0 ? base : nil)
                    let version = [UInt64(0), 1, 2, .max][index % 4]
                    try attempt(
                        [
                            .update(
                                object: object, baseVersion: version, values: [item, item],
                                links: [])
                        ],
                        MergePolicy.allCases[index % MergePolicy.allCases.count])
                }
            }
        }
        try checkAll()
    }

    /// Sends a batch and requires an answer, which may be a failure.
    private func attempt(
        _ work: Batch.Work, _ request: FetchDescriptor, id: inout UInt64, version: UInt16? = nil
    ) throws {
        id += 1
        let batch = Batch(
            batchID: Array("\(id)".utf8), contentHash: StableHash([]),
            modelVersion: version ?? model.version, request: request, work: work)
        switch try hostile.ask(.batch(batch)) {
        case .batched(let answer): #expect(answer.failure?.description.isEmpty != true)
        case .failure(let error): #expect(!error.description.isEmpty)
        case let other: Issue.record("another answer: \(other)")
        }
        #expect(!hostile.isClosed)
    }

    @Test func `law 7: every value in every slot of a batch update is accepted or refused`() throws
    {
        var id: UInt64 = 0
        for entity in model.entities {
            for slot in Array(0..<(entity.properties.count + 2)) + [127] {
                for (index, value) in Self.values.enumerated() {
                    let other = Self.values[(index + slot) % Self.values.count]
                    let items = [
                        SlotValue(slot: slot, value: value), SlotValue(slot: slot, value: other),
                    ]
                    let request = FetchDescriptor(entity: entity.name)
                    try attempt(.update(Array(items.prefix(1 + index % 2))), request, id: &id)
                }
            }
        }
        try checkAll()
    }

    @Test func `law 7: batches over names that the model does not have are refused`() throws {
        let texts = ["name > 5", "tags = 'x'", "nothing.name = 1", "spouse.rank = 'x'"]
        let requests =
            ["", "nothing", "node"].map { FetchDescriptor(entity: $0) }
            + (try texts.map {
                FetchDescriptor(entity: "Node", predicate: try ObjectPredicate(format: $0))
            }) + [FetchDescriptor(entity: "Node", sort: [SortComponent("tags")])]
        let before = try bench.count("Node", honest)
        var id: UInt64 = 0
        for request in requests {
            for work in [Batch.Work.delete, .update([])] { try attempt(work, request, id: &id) }
        }
        for version in [0, 2, 3, .max] as [UInt16] {
            try attempt(.delete, FetchDescriptor(entity: "Node"), id: &id, version: version)
        }
        #expect(try bench.count("Node", honest) == before && before > 0)
        try checkAll()
    }

    @Test func `law 7: links to any object over any slot are accepted or refused`() throws {
        let node = try bench.bench.reference("Node", 1)
        var targets = [
            ObjectReference(tag: 0, number: 0), ObjectReference(tag: .max, number: .max),
        ]
        for tag in model.entities.map(\.tag) {
            targets += [1, 2, 3, 4, 77_777].map { ObjectReference(tag: tag, number: $0) }
        }
        for slot in Array(0..<12) + [127] {
            for (index, target) in targets.enumerated() {
                let link = LinkChange(slot: slot, target: target, isAdded: index % 3 > 0)
                try attempt(
                    [.update(object: node, baseVersion: 0, values: [], links: [link, link])],
                    .overwrite)
            }
        }
        try checkAll()
    }

    @Test func `law 7: foreign numbers, entities and model versions are refused`()
        throws
    {
        let tag = try bench.bench.reference("Node", 1).tag
        for number in [0, 1, 2, lease.first + UInt64(lease.count), 1 << 40, .max] as [UInt64] {
            for tag in [0, tag, 200, .max] as [EntityTag] {
                let object = ObjectReference(tag: tag, number: number)
                for operation: SaveOperation in [
                    .insert(object: object, values: [], links: []),
                    .update(object: object, baseVersion: .max, values: [], links: []),
                    .delete(object: object, baseVersion: .max),
                ] {
                    // An existing object under its own entity is not tested here.
                    if tag == model.entity(named: "Node")?.tag, number == 1 { continue }
                    try attempt([operation])
                }
            }
        }
        for version in [0, 2, 3, .max] as [UInt16] {
            var request = hostile.saveRequest([try bench.bench.insert("Node", lease.first)])
            request.modelVersion = version
            try attempt(request)
        }
        try checkAll()
    }

    @Test func `law 7: one object in several operations of a save is accepted or refused`() throws {
        let tag = try bench.bench.reference("Node", 1).tag
        var number = lease.first
        for first in 0..<3 {
            for second in 0..<3 {
                for third in 0..<3 {
                    let object = ObjectReference(tag: tag, number: number)
                    number += 1
                    try attempt([first, second, third].map { operation($0, object) })
                    let old = try bench.bench.reference("Leaf", 4)
                    try attempt([first, second, third].map { operation($0, old) }, .overwrite)
                }
            }
        }
        try checkAll()
    }

    private func operation(_ kind: Int, _ object: ObjectReference) -> SaveOperation {
        switch kind {
        case 0: .insert(object: object, values: [], links: [])
        case 1: .update(object: object, baseVersion: 0, values: [], links: [])
        default: .delete(object: object, baseVersion: 0)
        }
    }

    @Test func `laws 7 and 8: a small request with an explosive number of paths is refused`() throws
    {
        // Each of 1,000 nodes has 8 tags and each tag has all nodes, so every two hops multiply the
        // number of paths by 8,000.
        let tags = (0..<8).map { lease.first + $0 }
        let nodes = (0..<1_000).map { lease.first + 8 + $0 }
        let references = try tags.map { try bench.bench.reference("Tag", $0) }
        try hostile.save(try tags.map { try bench.bench.insert("Tag", $0) })
        try hostile.save(
            try nodes.map { try bench.bench.insert("Node", $0, [:], links: ["tags": references]) })
        let path = Array(repeating: "tags.nodes", count: 8).joined(separator: ".")
        let nested = (0..<8).reduce("$v7.name = 'x'") { inner, level in
            let outer = level == 7 ? "" : "$v\(6 - level)."
            return "SUBQUERY(\(outer)tags.nodes, $v\(7 - level), \(inner)).@count > 0"
        }
        for text in ["ANY \(path).name = 'x'", nested] {
            let request = FetchDescriptor(
                entity: "Node", predicate: try ObjectPredicate(format: text))
            let error = #expect(throws: TandemError.self) {
                try hostile.fetch(Fetch(request: request, kind: .count))
            }
            #expect(error?.code == .limitExceeded, "\(text): \(String(describing: error))")
        }
        try checkAll()
    }
}
