import TandemModel
import TandemQuery
import TandemResults

/// Why an object is part of a change.
public struct ChangeCause: Hashable, Sendable {
    /// The object's own properties that differ.
    public var properties: [String]
    /// The key paths of the list through which other objects' values reach it, and reached others than before.
    ///
    /// Of a row that came or went, and of one whose own values differ as well, these are all key paths of the condition, or of its
    /// reason, on which the merge changed something; none of an object that is new or deleted.
    public var keyPaths: [String]

    /// A cause of the given names.
    public init(properties: [String] = [], keyPaths: [String] = []) {
        self.properties = properties
        self.keyPaths = keyPaths
    }
}

/// What a step learned of the causes of its change.
struct ChangeCauses: Sendable {
    /// The slots of the objects of the list's entity that differ.
    private(set) var own: [ObjectNumber: PropertyMask] = [:]
    /// The key paths over relationships on which something differs, with their uses.
    private(set) var paths: [String: ObservedPath.Usage] = [:]
    /// The objects that are new or deleted, where others' values may decide who is in the list.
    private var ends: Set<ObjectNumber> = []

    /// Takes in what a merge changed.
    mutating func note(_ group: MergedGroup, _ judge: RowJudge) {
        var found: [ObjectNumber: PropertyMask] = [:]
        found.reserveCapacity(group.changes.count)
        let isByOthers = judge.plan.compiled.predicateUsesRelated
        for change in judge.own {
            found[change.object.number] = change.changed
            let isEnd = change.kind == .insert || change.kind == .delete
            if isByOthers, isEnd { ends.insert(change.object.number) }
        }
        if own.isEmpty { own = found } else { own.merge(found) { $0.union($1) } }
        note(group.changes, judge.plan)
    }

    /// Takes in the key paths through which changes of other objects reach rows.
    mutating func note(_ changes: [Change], _ plan: ResultsPlan) {
        for path in plan.compiled.paths where !path.hops.isEmpty {
            guard path.isTouched(by: changes, plan.compiled.model),
                let name = path.name(in: plan.compiled.model)
            else { continue }
            paths[name, default: []].formUnion(path.usage)
        }
    }

    /// Takes in what edits changed.
    mutating func note(_ number: ObjectNumber, _ slots: PropertyMask) {
        own[number] = own[number]?.union(slots) ?? slots
    }

    /// Takes in the causes of a later change.
    mutating func formUnion(_ later: ChangeCauses) {
        own.merge(later.own) { $0.union($1) }
        paths.merge(later.paths) { $0.union($1) }
        ends.formUnion(later.ends)
    }

    /// The cause of one part of a change.
    func cause(
        of object: ResultsChange.ObjectChange, _ reason: ChangeReason, _ model: CompiledModel
    ) -> ChangeCause {
        let mask = own[object.number] ?? PropertyMask()
        let properties = model.entity(tagged: object.tag)?.properties ?? []
        let usage = ends.contains(object.number) ? [] : ChangeCauses.usage(object, reason)
        return ChangeCause(
            properties: properties.filter { mask.contains($0.slot) }.map(\.name),
            keyPaths: paths.filter { !$0.value.isDisjoint(with: usage) }.keys.sorted())
    }

    private static func usage(
        _ object: ResultsChange.ObjectChange, _ reason: ChangeReason
    ) -> ObservedPath.Usage {
        if object.from == nil || object.to == nil { return .predicate }
        var usage: ObservedPath.Usage = []
        if reason.contains(.predicatePath) { usage.insert(.predicate) }
        if reason.contains(.sortPath) { usage.insert(.sort) }
        if reason.contains(.sectionPath) { usage.insert(.section) }
        if reason.contains(.refreshPath) { usage.formUnion([.refresh, .sort, .section]) }
        return usage
    }
}

extension ObservedPath {
    /// Whether changes are of objects that the path may lead through, and of the properties it goes on with.
    fileprivate func isTouched(by changes: [Change], _ model: CompiledModel) -> Bool {
        let next = hops.dropFirst().map(\.slot) + [final?.slot].compactMap { $0 }
        for (hop, slot) in zip(hops, next) {
            guard let entity = model.entity(tagged: hop.destination) else { continue }
            let tags = Set(entity.descendants + [entity.tag])
            for change in changes where tags.contains(change.object.tag) {
                if change.kind == .delete || change.changed.contains(slot) { return true }
            }
        }
        return false
    }

    /// The path as it is written.
    fileprivate func name(in model: CompiledModel) -> String? {
        var names: [String] = []
        for hop in hops {
            guard let entity = model.entity(tagged: hop.owner) else { return nil }
            names.append(entity.properties[hop.slot].name)
        }
        if let final {
            guard let entity = model.entity(tagged: final.entity) else { return nil }
            names.append(entity.properties[final.slot].name)
        }
        return names.joined(separator: ".")
    }
}
