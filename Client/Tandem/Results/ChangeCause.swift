import Algorithms
import TandemModel
import TandemQuery
import TandemResults

/// The reason why an object is part of a change.
public struct ChangeCause: Hashable, Sendable {
    /// The names of the object's own properties that changed.
    public var properties: [String]
    /// The key paths of the list at which the merge changed values of other objects that affect
    /// this row.
    ///
    /// For a row that entered or left the list, these are all such key paths of the predicate; for
    /// other rows, the key paths that match the reasons for the change. Key paths are recorded for
    /// the merge as a whole, so a value may have changed only for a different row. The array is
    /// empty for a new or deleted object.
    public var keyPaths: [String]

    /// Creates a cause with the given names.
    package init(properties: [String] = [], keyPaths: [String] = []) {
        self.properties = properties
        self.keyPaths = keyPaths
    }
}

/// The causes of one change, collected while the list is updated.
struct ChangeCauses: Sendable {
    /// The changed slots of objects of the list's entity in one merge, in ascending order of
    /// numbers.
    private var merged: [(number: ObjectNumber, slots: PropertyMask)] = []
    /// The slots of other objects, changed by edits or by later merges.
    private var others: [ObjectNumber: PropertyMask] = [:]
    /// The key paths through relationships at which values changed, with their uses.
    private(set) var paths: [String: ObservedPath.Usage] = [:]
    /// The new and deleted objects, if membership depends on values of other objects.
    private var ends: Set<ObjectNumber> = []

    /// Records the changes of a merge.
    mutating func record(_ group: MergedGroup, _ collector: RowChangeCollector) {
        let isFirst = merged.isEmpty
        let isByOthers = collector.plan.compiled.predicateUsesRelated
        for part in collector.ownParts {
            if isFirst { merged.reserveCapacity(merged.count + part.count) }
            for at in part where !group.changes[at].changed.isEmpty {
                let number = group.changes[at].object.number
                let slots = group.changes[at].changed
                let kind = group.changes[at].kind
                if isByOthers, kind == .insert || kind == .delete { ends.insert(number) }
                if isFirst { merged.append((number, slots)) } else { record(number, slots) }
            }
        }
        if isFirst, collector.ownParts.count > 1 { merged.sort { $0.number < $1.number } }
        for path in collector.plan.compiled.paths
        where !path.hops.isEmpty && path.isTouched(by: group.table, collector.plan.compiled.model) {
            record(path, collector.plan)
        }
    }

    /// Records the key paths through which changes to other objects affect rows.
    mutating func record(_ changes: [Change], _ plan: ResultsPlan) {
        if changes.isEmpty { return }
        let table = ChangeTable(changes)
        for path in plan.compiled.paths
        where !path.hops.isEmpty && path.isTouched(by: table, plan.compiled.model) {
            record(path, plan)
        }
    }

    private mutating func record(_ path: ObservedPath, _ plan: ResultsPlan) {
        guard let name = path.name(in: plan.compiled.model) else { return }
        paths[name, default: []].formUnion(path.usage)
    }

    /// Records the slots changed by edits to an object.
    mutating func record(_ number: ObjectNumber, _ slots: PropertyMask) {
        others[number] = others[number]?.union(slots) ?? slots
    }

    /// Adds the causes of a later change.
    mutating func formUnion(_ later: ChangeCauses) {
        for (number, slots) in later.merged { record(number, slots) }
        others.merge(later.others) { $0.union($1) }
        paths.merge(later.paths) { $0.union($1) }
        ends.formUnion(later.ends)
    }

    /// Returns the cause of the change to one object.
    func cause(
        of object: ResultsChange.ObjectChange, _ reason: ChangeReason, _ model: CompiledModel
    ) -> ChangeCause {
        let mask = slots(of: object.number)
        let properties = model.entity(tagged: object.tag)?.properties ?? []
        let usage = ends.contains(object.number) ? [] : ChangeCauses.usage(object, reason)
        return ChangeCause(
            properties: properties.filter { mask.contains($0.slot) }.map(\.name),
            keyPaths: paths.filter { !$0.value.isDisjoint(with: usage) }.keys.sorted())
    }

    private func slots(of number: ObjectNumber) -> PropertyMask {
        let slots = others[number] ?? PropertyMask()
        let at = merged.partitioningIndex { $0.number >= number }
        return at < merged.count && merged[at].number == number
            ? slots.union(merged[at].slots) : slots
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
    /// Returns whether any object of an entity on the path was deleted, or changed in the property
    /// that comes next on the path.
    fileprivate func isTouched(by table: ChangeTable, _ model: CompiledModel) -> Bool {
        for at in hops.indices {
            let next = at + 1 < hops.count ? hops[at + 1].slot : final?.slot
            guard let next, let entity = model.entity(tagged: hops[at].destination) else {
                continue
            }
            for part in table.parts where entity.includes(table.tag(of: part)) {
                for at in part where table.all[at].changed.contains(next) { return true }
                for at in part where table.all[at].kind == .delete { return true }
            }
        }
        return false
    }

    /// Returns the path's text, with a period between names, or nil if the model lacks an entity.
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
