import TandemModel
import TandemStore
import TandemWire
import Testing

@testable import TandemDaemon

@Suite(.ownThread) struct PlannerTests {
    // MARK: Inverses

    @Test func `one-to-one is kept at both ends and takes a target from its old partner`() throws {
        let bench = try CommitBench()
        let badges = try [11, 12].map { try bench.reference("Badge", $0) }
        try bench.save([
            try bench.insert("Badge", 11), try bench.insert("Badge", 12),
            try bench.insert("Node", 1, ["badge": .reference(badges[0])]),
            try bench.insert("Node", 2, ["badge": .reference(badges[1])]),
        ])
        let nodes = try [1, 2].map { try bench.reference("Node", $0) }
        #expect(try bench.value("Badge", 11, "owner") == .reference(nodes[0]))
        try bench.save([try bench.update("Node", 2, ["badge": .reference(badges[0])])])
        #expect(try bench.value("Node", 1, "badge") == .null)
        #expect(try bench.value("Badge", 11, "owner") == .reference(nodes[1]))
        #expect(try bench.value("Badge", 12, "owner") == .null)
        // A link that is set from the other end.
        try bench.save([try bench.update("Badge", 12, ["owner": .reference(nodes[1])])])
        #expect(try bench.value("Node", 2, "badge") == .reference(badges[1]))
        #expect(try bench.value("Badge", 11, "owner") == .null)
    }

    @Test func `one-to-one with itself pairs, takes over and unlinks`() throws {
        let bench = try CommitBench()
        try bench.save(try (1...4).map { try bench.insert("Node", $0) })
        let node = try (0...4).map { try bench.reference("Node", UInt64($0)) }
        func spouses() throws -> [UInt64?] {
            try (1...4).map { try bench.value("Node", $0, "spouse").reference?.number }
        }
        try bench.save([
            try bench.update("Node", 1, ["spouse": .reference(node[2])]),
            try bench.update("Node", 3, ["spouse": .reference(node[4])]),
        ])
        #expect(try spouses() == [2, 1, 4, 3])
        try bench.save([try bench.update("Node", 1, ["spouse": .reference(node[3])])])
        #expect(try spouses() == [3, nil, 1, nil])
        try bench.save([try bench.update("Node", 1, ["spouse": .reference(node[1])])])
        #expect(try spouses() == [1, nil, nil, nil])
        try bench.save([try bench.update("Node", 1, ["spouse": .reference(node[2])])])
        #expect(try spouses() == [2, 1, nil, nil])
        try bench.save([try bench.update("Node", 2, ["spouse": .null])])
        #expect(try spouses() == [nil, nil, nil, nil])
    }

    @Test func `one-to-many is written from either end`() throws {
        let bench = try CommitBench()
        let nodes = try (1...3).map { try bench.reference("Node", UInt64($0)) }
        try bench.save(
            [
                try bench.insert("Group", 11, links: ["nodes": Array(nodes[..<2])]),
                try bench.insert("Group", 12),
            ] + (1...3).map { try bench.insert("Node", $0) })
        #expect(try bench.members("Group", 11, "nodes") == [1, 2])
        let group = try bench.reference("Group", 12)
        #expect(try bench.value("Node", 2, "group").reference?.number == 11)
        try bench.save([
            try bench.update("Node", 2, ["group": .reference(group)]),
            try bench.update("Group", 12, added: ["nodes": [nodes[2]]]),
            try bench.update("Group", 11, removed: ["nodes": [nodes[0]]]),
        ])
        #expect(try bench.members("Group", 11, "nodes").isEmpty)
        #expect(try bench.members("Group", 12, "nodes") == [2, 3])
        #expect(try bench.value("Node", 1, "group") == .null)
        #expect(try bench.value("Node", 3, "group") == .reference(group))
    }

    @Test func `many-to-many with itself is symmetric, a link to itself is one link`() throws {
        let bench = try CommitBench()
        try bench.save(try (1...3).map { try bench.insert("Node", $0) })
        let node = try (0...3).map { try bench.reference("Node", UInt64($0)) }
        try bench.save([try bench.update("Node", 1, added: ["friends": [node[1], node[2]]])])
        #expect(try bench.members("Node", 1, "friends") == [1, 2])
        #expect(try bench.members("Node", 2, "friends") == [1])
        // Added from both ends, it is still one link.
        try bench.save([
            try bench.update("Node", 3, added: ["friends": [node[2]]]),
            try bench.update("Node", 2, added: ["friends": [node[3]]]),
        ])
        try bench.save([
            try bench.update(
                "Node", 2, removed: ["friends": [node[3]]]),
            try bench.update("Node", 1, removed: ["friends": [node[1]]]),
        ])
        #expect(try bench.members("Node", 1, "friends") == [2])
        #expect(try bench.members("Node", 2, "friends") == [1])
        #expect(try bench.members("Node", 3, "friends").isEmpty)
    }

    // MARK: Deletion

    @Test func `a cascade deletes children of children, their badges, and cuts other links`() throws
    {
        let bench = try CommitBench()
        let (root, child) = (try bench.reference("Node", 1), try bench.reference("Leaf", 2))
        let (badge, tag) = (try bench.reference("Badge", 4), try bench.reference("Tag", 5))
        try bench.save([
            try bench.insert("Node", 1),
            try bench.insert("Leaf", 2, ["parent": .reference(root)]),
            try bench.insert(
                "Node", 3, ["parent": .reference(child), "badge": .reference(badge)],
                links: ["tags": [tag], "friends": [try bench.reference("Node", 6)]]),
            try bench.insert("Badge", 4), try bench.insert("Tag", 5), try bench.insert("Node", 6),
        ])
        try bench.save([try bench.delete("Node", 1)])
        for (name, number) in [("Node", UInt64(1)), ("Leaf", 2), ("Node", 3), ("Badge", 4)] {
            #expect(try !bench.exists(name, number))
        }
        #expect(try bench.members("Tag", 5, "nodes").isEmpty)
        #expect(try bench.members("Node", 6, "friends").isEmpty)
    }

    @Test func `a cascade around a cycle ends`() throws {
        let bench = try CommitBench()
        let node = try (0...3).map { try bench.reference("Node", UInt64($0)) }
        try bench.save([
            try bench.insert("Node", 1, ["parent": .reference(node[3])]),
            try bench.insert("Node", 2, ["parent": .reference(node[1])]),
            try bench.insert("Node", 3, ["parent": .reference(node[2])]),
        ])
        try bench.save([try bench.delete("Node", 2)])
        #expect(try (1...3).allSatisfy { try !bench.exists("Node", $0) })
    }

    @Test func `nullify and no action leave the other end alive and unlinked`() throws {
        let bench = try CommitBench()
        let node = try bench.reference("Node", 1)
        try bench.save([
            try bench.insert("Node", 1), try bench.insert("Tag", 2, links: ["nodes": [node]]),
            try bench.insert("Node", 3, ["spouse": .reference(node)]),
        ])
        try bench.save([try bench.delete("Tag", 2), try bench.delete("Node", 3)])
        #expect(try bench.members("Node", 1, "tags").isEmpty)
        #expect(try bench.value("Node", 1, "spouse") == .null)
    }

    @Test func `deny refuses while there are members and writes nothing`() throws {
        let bench = try CommitBench()
        let group = try bench.reference("Group", 1)
        try bench.save([
            try bench.insert("Group", 1), try bench.insert("Node", 2, ["group": .reference(group)]),
        ])
        let before = try dump(bench.store)
        #expect(try bench.refusal([try bench.delete("Group", 1)])?.code == .deleteDenied)
        #expect(try dump(bench.store) == before)
        // A save that also deletes the members or moves them away, in either order, is accepted.
        try bench.save([try bench.delete("Group", 1), try bench.delete("Node", 2)])
        #expect(try !bench.exists("Group", 1))
    }

    @Test func `objects moved away by a save are neither denied nor deleted, in either order`()
        throws
    {
        for isDeletedFirst in [false, true] {
            let bench = try CommitBench()
            let (group, root) = (try bench.reference("Group", 1), try bench.reference("Node", 3))
            try bench.save([
                try bench.insert("Group", 1), try bench.insert("Node", 3),
                try bench.insert(
                    "Node", 2, ["group": .reference(group), "parent": .reference(root)]),
            ])
            let deletions = [try bench.delete("Group", 1), try bench.delete("Node", 3)]
            let move = [try bench.update("Node", 2, ["group": .null, "parent": .null])]
            try bench.save(isDeletedFirst ? deletions + move : move + deletions)
            #expect(try !bench.exists("Group", 1))
            #expect(try !bench.exists("Node", 3))
            #expect(try bench.exists("Node", 2))
        }
    }

    // MARK: Refusals

    @Test func `a number that was used or never leased can't be inserted`() throws {
        let bench = try CommitBench()
        try bench.save([try bench.insert("Node", 1)])
        try bench.save([try bench.delete("Node", 1)])
        for number: UInt64 in [0, 1, 4_097, 1 << 40, .max] {
            #expect(try bench.refusal([try bench.insert("Node", number)])?.code == .usage)
        }
        let twice = [try bench.insert("Node", 2), try bench.insert("Tag", 2)]
        #expect(try bench.refusal(twice)?.code == .usage)
        #expect(try bench.refusal([try bench.insert("Tag", 1)])?.code == .usage)
        try bench.save([try bench.insert("Node", 2)])
    }

    @Test func `validation lists all problems of all objects`() throws {
        let bench = try CommitBench()
        let before = try dump(bench.store)
        let error = try bench.refusal([
            try bench.insert(
                "Form", 1, ["choice": .string("c"), "size": .int(10), "text": .string("x")]),
            try bench.insert("Form", 2, ["must": .string(""), "size": .int(0)]),
            try bench.insert("Form", 3, ["must": .string(""), "text": .string("åäöü")]),
            try bench.insert("Form", 4, ["must": .string(""), "text": .string("åäö")]),
        ])
        #expect(error?.code == .validation)
        let found = error?.problems.map { "\($0.object).\($0.property ?? "")" } ?? []
        #expect(
            Set(found) == [
                "Form/1.must", "Form/1.choice", "Form/1.size", "Form/1.text", "Form/2.size",
                "Form/3.text",
            ])
        #expect(found.count == 6)
        #expect(try dump(bench.store) == before)
    }

    @Test func `values of the wrong type, slots and targets that do not exist are refused`() throws
    {
        let bench = try CommitBench()
        try bench.save([
            try bench.insert("Node", 1), try bench.insert("Tag", 2), try bench.insert("Group", 3),
        ])
        let (node, tag) = (try bench.reference("Node", 1), try bench.reference("Tag", 2))
        let before = try dump(bench.store)
        func values(_ slot: Int, _ value: PropertyValue) -> SaveOperation {
            .update(
                object: node, baseVersion: 0, values: [SaveValue(slot: slot, value: value)],
                links: [])
        }
        func links(_ slot: Int, _ target: ObjectReference) -> SaveOperation {
            .update(
                object: node, baseVersion: 0, values: [],
                links: [LinkChange(slot: slot, target: target, isAdded: true)])
        }
        let entity = try bench.entity("Node")
        let gone = ObjectReference(tag: node.tag, number: 999)
        var operations = [
            values(127, .int(1)), links(127, tag), links(0, tag),
            .update(object: gone, baseVersion: 0, values: [], links: []),
            .delete(object: gone, baseVersion: 0),
            .delete(object: ObjectReference(tag: 77, number: 999), baseVersion: 0),
            .insert(object: ObjectReference(tag: 77, number: 9), values: [], links: []),
        ]
        let wrong: [PropertyValue] = [
            .int(1), .string("x"), .double(.nan), .bool(true), .reference(gone),
            .reference(tag), .reference(ObjectReference(tag: 77, number: 1)), .data([]),
        ]
        for property in entity.properties {
            for value in wrong {
                switch (property.name, value) {
                case ("rank", .int), ("name", .string), ("code", .string): continue
                default: operations.append(values(property.slot, value))
                }
            }
            operations.append(links(property.slot, gone))
        }
        for operation in operations {
            #expect(try bench.refusal([operation]) != nil, "\(operation)")
        }
        #expect(try dump(bench.store) == before)
    }

    @Test func `an object named under another entity is refused, never a trap`() throws {
        let bench = try CommitBench()
        try bench.save([try bench.insert("Tag", 1), try bench.insert("Node", 2)])
        let before = try dump(bench.store)
        let liar = try bench.reference("Node", 1)
        let node = try bench.entity("Node")
        for property in node.properties {
            let values: [PropertyValue] = [
                .null, .int(1), .reference(try bench.reference("Node", 2)),
            ]
            for value in values {
                // The first operation loads the tag; the second refers to it as a node.
                let lie = SaveOperation.update(
                    object: liar, baseVersion: 0,
                    values: [SaveValue(slot: property.slot, value: value)], links: [])
                let error = try bench.refusal([
                    try bench.update("Tag", 1, ["label": .string("x")]), lie,
                ])
                #expect(error != nil, "\(property.name) \(value)")
            }
            for target in [liar, try bench.reference("Node", 2)] {
                let lie = SaveOperation.update(
                    object: liar, baseVersion: 0, values: [],
                    links: [LinkChange(slot: property.slot, target: target, isAdded: true)])
                let error = try bench.refusal([
                    try bench.update("Tag", 1, ["label": .string("x")]), lie,
                ])
                #expect(error != nil, "\(property.name)")
            }
        }
        // The same false reference as the target of a link.
        let friend = try bench.update("Node", 2, added: ["friends": [liar]])
        let change = try bench.update("Tag", 1, ["label": .string("x")])
        #expect(try bench.refusal([change, friend]) != nil)
        #expect(try bench.refusal([change, .delete(object: liar, baseVersion: 0)]) != nil)
        #expect(try dump(bench.store) == before)
    }

    // MARK: No effect, repeats

    @Test func `a save without net effect writes nothing`() throws {
        let bench = try CommitBench()
        let node = try (0...2).map { try bench.reference("Node", UInt64($0)) }
        try bench.save([
            try bench.insert("Node", 1, ["name": .string("a"), "spouse": .reference(node[2])]),
            try bench.insert("Node", 2),
        ])
        let position = bench.committer.position
        for operations in [
            [], [try bench.update("Node", 1, ["name": .string("a")])],
            [try bench.update("Node", 1, ["spouse": .reference(node[2])])],
            [try bench.update("Node", 2, ["spouse": .reference(node[1])])],
            [
                try bench.update("Node", 1, added: ["friends": [node[2]]]),
                try bench.update("Node", 2, removed: ["friends": [node[1]]]),
            ],
            [
                try bench.update("Node", 1, ["name": .string("b")]),
                try bench.update("Node", 1, ["name": .string("a")]),
            ],
            [try bench.insert("Node", 3), try bench.delete("Node", 3)],
        ] {
            let saved = try bench.save(operations)
            #expect(!saved.wrote)
            #expect(saved.position == position)
        }
        #expect(bench.committer.position == position)
    }

    @Test func `law 3: a repeated save id returns the first answer, also after a crash`() throws {
        let bench = try CommitBench()
        let operations = [try bench.insert("Node", 2), try bench.insert("Node", 1)]
        let first = try bench.save(operations, id: [9])
        for isCrashed in [false, true] {
            if isCrashed { try bench.crash() }
            let again = try bench.save(operations, id: [9])
            #expect(again.isRepeat)
            #expect(again.position == first.position)
            #expect(again.inserted == first.inserted)
            #expect(try bench.store.count(of: try bench.entity("Node").tag) == 2)
            let other = [try bench.insert("Node", 3)]
            let error = #expect(throws: TandemError.self) { try bench.save(other, id: [9]) }
            #expect(error?.code == .usage)
        }
    }
}
