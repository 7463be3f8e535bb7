import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

@Suite(.ownThread) struct VerdictTests {
    /// Predicates, sort orders, sections and refresh paths over every kind of hop.
    static let lists: [VerdictItem] = {
        func item(
            _ format: String?, entity: String = "Node", sort: [String] = [], section: String? = nil,
            refresh: [String] = []
        ) -> VerdictItem? {
            let predicate = format.map { try? ObjectPredicate(format: $0) }
            if let predicate, predicate == nil { return nil }
            let keys = ((section.map { [$0] } ?? []) + sort).map {
                SortComponent($0, ascending: true)
            }
            return VerdictItem(
                request: FetchDescriptor(entity: entity, predicate: predicate ?? nil, sort: keys),
                sectionKeyPath: section, refreshKeyPaths: refresh)
        }
        return [
            item("rank > 1"), item("ANY tags.label == 'a'", sort: ["name"]),
            item("tags.@count > 1"), item("children.@count == 0"),
            item("SUBQUERY(children, $c, $c.rank > 1).@count > 0"),
            item("group.title == 'a'", sort: ["group.title", "name"], section: "group.title"),
            item("parent.group.title == 'b'"), item("badge.text != nil", sort: ["badge.text"]),
            item("spouse.rank > 1 OR spouse == nil"), item("ANY friends.group.title == 'a'"),
            item("ALL children.rank > 1 AND NONE tags.label == 'b'"),
            item("children.@sum.rank > 3", entity: "Leaf"),
            item(nil, sort: ["name"], refresh: ["group.title", "parent.name"]),
            item(nil, entity: "Group", refresh: ["nodes", "nodes.name"]),
            item("ANY nodes.parent.name == 'a'", entity: "Group"),
            item("owner.group.title == 'a'", entity: "Badge", sort: ["owner.name"]),
            item("ANY nodes.children.tags.label == 'a'", entity: "Tag"),
        ].compactMap { $0 }
    }()

    @Test func `law 4: verdicts equal those of brute force, for every list and window`() throws {
        #expect(VerdictTests.lists.count == 17)
        for round in UInt64(0)..<3 {
            var random = try RandomGraph(seed: seed &+ 100 &+ round)
            for _ in 0..<25 { try random.step() }
            for window in 0..<12 {
                let before = try VerdictTests.lists.map { try ListSnapshot($0, random.bench) }
                let from = random.bench.committer.position
                for _ in 0...(window % 3) { try random.step() }
                for (item, old) in zip(VerdictTests.lists, before) {
                    let what = "seed \(seed) round \(round) window \(window): \(item.request)"
                    try check(item, old, from, random.bench, what)
                }
            }
        }
    }

    private func check(
        _ item: VerdictItem, _ old: ListSnapshot, _ from: UInt64, _ bench: CommitBench,
        _ what: String
    ) throws {
        let answer = try bench.verdicts(VerdictRequest(from: from, items: [item]))
        try VerdictTests.check(answer.items[0], item, old, bench, what)
    }

    /// Checks that the verdicts cover all changed objects and are correct for each.
    static func check(
        _ verdicts: [Verdict], _ item: VerdictItem, _ old: ListSnapshot, _ bench: CommitBench,
        _ what: String
    ) throws {
        let new = try ListSnapshot(item, bench)
        let judged = Set(verdicts.map(\.object))
        #expect(judged.count == verdicts.count, "\(what)")
        for verdict in verdicts {
            let object = verdict.object
            #expect(verdict.matches == (new.members[object] != nil), "\(what) \(object)")
            let stored = try bench.store.stored(object)
            #expect(verdict.row == stored?.row && verdict.version == stored?.version ?? 0)
            let isRefreshed =
                !item.refreshKeyPaths.isEmpty && old.refresh[object] != nil
                && new.refresh[object] != nil && old.refresh[object] != new.refresh[object]
            #expect(verdict.refreshed == isRefreshed, "\(what) \(object)")
        }
        for object in Set(old.members.keys).union(new.members.keys)
        where old.members[object] != new.members[object]
            || old.refresh[object] != new.refresh[object]
        {
            #expect(judged.contains(object), "\(what) leaves out \(object)")
        }
    }
}

extension VerdictItem {
    func compiled(_ model: CompiledModel) throws -> CompiledRequest {
        try CompiledRequest(
            request, sectionKeyPath: sectionKeyPath, refreshKeyPaths: refreshKeyPaths, in: model)
    }
}

/// A list computed by brute force: every object of the entity is evaluated.
struct ListSnapshot {
    /// The sort key, section and row of every matching object.
    var members: [ObjectReference: [[UInt8]]] = [:]
    /// The values at the refresh paths, for every object of the entity.
    var refresh: [ObjectReference: [UInt8]] = [:]

    init(_ item: VerdictItem, _ bench: CommitBench) throws {
        let compiled = try item.compiled(try bench.model)
        let reader = StoreReader(bench.store)
        let all = try bench.store.fetch(
            try CompiledRequest(FetchDescriptor(entity: item.request.entity), in: try bench.model))
        for stored in all.objects {
            let (object, row) = (stored.object, stored.row)
            refresh[object] = compiled.refreshValues(object, row, reader)
            let matches = compiled.matches(object, row, reader)
            #expect(matches != nil)
            guard matches == true else { continue }
            var section: [UInt8] = []
            if case .known(let name) = compiled.section(object, row, reader) {
                section = Array(name.utf8)
            }
            let key = try #require(compiled.sortKey(object, row, reader))
            members[object] = [key, section, row.bytes]
        }
    }
}
