import TandemModel
import TandemStore
import TandemWire

/// The search for objects of a save whose unique values belong to another object.
struct UniquenessCheck {
    let graph: PlanningGraph
    let model: CompiledModel
    let store: Store
    let policy: MergePolicy

    /// Returns the new objects that existing ones replace; throws if the policy does not allow
    /// that.
    ///
    /// `objects` contains the objects of the save, sorted by number.
    func run(_ objects: [PlanningObject]) throws -> [Replacement] {
        var problems = ProblemList()
        var replaced: [Replacement] = []
        var replacedNumbers: Set<ObjectNumber> = []
        var taken: [[UInt8]: ObjectReference] = [:]
        for working in objects where !working.isDeleted && !working.entity.uniqueness.isEmpty {
            if problems.isFull { break }
            for index in working.entity.uniqueness where isConcerned(working, index) {
                guard let owner = try owner(index, working, &taken) else { continue }
                if replacedNumbers.contains(owner.number) { continue }
                if canBecomeOne(working, with: owner) {
                    replaced.append(Replacement(number: working.object.number, by: owner))
                    replacedNumbers.insert(working.object.number)
                    break
                }
                // The owner may be a new object that precedes this existing one by number.
                if let new = graph.objects[owner.number], canBecomeOne(new, with: working.object) {
                    replaced.append(Replacement(number: owner.number, by: working.object))
                    replacedNumbers.insert(owner.number)
                    continue
                }
                problems.append(problem(working, index, owner))
            }
        }
        guard problems.isEmpty else { throw TandemError(.uniqueness, problems: problems.problems) }
        assert(
            replacedNumbers.count == replaced.count, "A new object is replaced once.")
        return replaced
    }

    /// Finds the new objects whose unique values belong to an object of the store or to an earlier
    /// insert.
    ///
    /// Rejected inserts own no values. The objects in `inserted` are in the order in which they
    /// would be inserted one by one.
    func findRefusals(_ inserted: [PlanningObject], _ refusals: inout RejectedInserts) throws {
        var taken: [[UInt8]: ObjectReference] = [:]
        for working in inserted where !working.entity.uniqueness.isEmpty {
            // Inserts that link to a rejected one are rejected, too, and own no values.
            if refusals.isDecided(working.object) { continue }
            var keys: [[UInt8]] = []
            var problems: [ValidationProblem] = []
            for index in working.entity.uniqueness {
                guard let key = key(index, working) else { continue }
                keys.append(key)
                if let owner = try taken[key] ?? storedOwner(index, working) {
                    problems.append(problem(working, index, owner))
                }
            }
            if problems.isEmpty {
                for key in keys { taken[key] = working.object }
            } else {
                try refusals.add(
                    TandemError(.uniqueness, problems: problems), for: working.object)
            }
        }
    }

    /// Returns the indexes before which the list of new objects must be split.
    ///
    /// No chunk then has two objects with the same unique values. Values that the store has require
    /// no split, because each new object with them becomes the stored one.
    func cuts(_ inserted: [PlanningObject]) throws -> [Int] {
        var first: [[UInt8]: Int] = [:]
        var cuts: [Int] = []
        for (index, working) in inserted.enumerated() where !working.entity.uniqueness.isEmpty {
            let keys = try working.entity.uniqueness.compactMap { constraint in
                try storedOwner(constraint, working) == nil ? key(constraint, working) : nil
            }
            let start = cuts.last ?? 0
            if keys.contains(where: { first[$0] ?? -1 >= start }) { cuts.append(index) }
            for key in keys where first[key] == nil { first[key] = index }
        }
        return cuts
    }

    private func isConcerned(_ working: PlanningObject, _ index: CompiledIndex) -> Bool {
        working.isInserted || !working.written.intersection(index.mask).isEmpty
    }

    /// Returns another object with the same tuple, in this save or in the store.
    private func owner(
        _ index: CompiledIndex, _ working: PlanningObject, _ taken: inout [[UInt8]: ObjectReference]
    ) throws -> ObjectReference? {
        guard let key = key(index, working) else { return nil }
        if let other = taken.updateValue(working.object, forKey: key) { return other }
        return try storedOwner(index, working)
    }

    /// Returns the key of a tuple, or nil if a value is missing: such a tuple equals no other.
    private func key(_ index: CompiledIndex, _ working: PlanningObject) -> [UInt8]? {
        guard index.slots.allSatisfy({ !working.value($0).isNull }) else { return nil }
        var key = KeyEncoder()
        key.append(tag: index.id)
        for slot in index.slots { key.append(working.value(slot)) }
        return key.bytes
    }

    /// Returns the stored object that still has the same tuple after the save.
    private func storedOwner(
        _ index: CompiledIndex, _ working: PlanningObject
    ) throws -> ObjectReference? {
        guard let owner = try store.owner(of: index, working.row, working.entity),
            owner.number != working.object.number, holds(owner, index)
        else { return nil }
        return owner
    }

    /// Returns whether the owner still has the values after the save.
    private func holds(_ owner: ObjectReference, _ index: CompiledIndex) -> Bool {
        guard let working = graph.objects[owner.number] else { return true }
        if working.isDeleted { return false }
        guard let stored = working.stored else { return true }
        return index.slots.allSatisfy {
            stored.row.uncheckedValue($0, in: working.entity) == working.value($0)
        }
    }

    private func canBecomeOne(_ working: PlanningObject, with owner: ObjectReference) -> Bool {
        policy != .error && working.isInserted && owner.tag == working.object.tag
            && graph.objects[owner.number]?.isInserted != true
    }

    private func problem(
        _ working: PlanningObject, _ index: CompiledIndex, _ owner: ObjectReference
    ) -> ValidationProblem {
        let values = index.slots.map { working.value($0).excerpt() }.joined(separator: ", ")
        return ValidationProblem(
            object: model.id(of: working.object), property: index.properties.joined(separator: ","),
            message:
                "\(values) is taken by \(model.id(of: owner)); choose another value")
    }
}
