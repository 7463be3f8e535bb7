import TandemModel
import TandemStore
import TandemWire

/// Finds objects of a save whose unique values another object has already.
struct UniquenessCheck {
    let graph: WorkingGraph
    let model: CompiledModel
    let store: Store
    let policy: MergePolicy

    /// The new objects of a save whose place an existing one takes; throws where the policy does not allow that.
    ///
    /// `objects` are those of the save, by number.
    func run(_ objects: [WorkingObject]) throws -> [Replacement] {
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
                // An existing object that comes after the new one with its values, by number.
                if let new = graph.objects[owner.number], canBecomeOne(new, with: working.object) {
                    replaced.append(Replacement(number: owner.number, by: working.object))
                    replacedNumbers.insert(owner.number)
                    continue
                }
                problems.append(problem(working, index, owner))
            }
        }
        guard problems.isEmpty else { throw TandemError(.uniqueness, problems: problems.problems) }
        return replaced
    }

    /// Finds the new objects whose unique values another one has: of the store, or one before it that is not refused itself.
    ///
    /// `inserted` are in the order in which they would be inserted one by one.
    func findRefusals(_ inserted: [WorkingObject], _ refusals: inout Refusals) throws {
        var taken: [[UInt8]: ObjectReference] = [:]
        for working in inserted where !working.entity.uniqueness.isEmpty {
            // What linked to one that is refused has taken nothing.
            if refusals.settles(working.object) { continue }
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

    /// Before which of some new objects they have to be parted, so that no part has two with the same unique values.
    ///
    /// Values that the store has are no reason: who has them becomes one with the object there.
    func cuts(_ inserted: [WorkingObject]) throws -> [Int] {
        var first: [[UInt8]: Int] = [:]
        var cuts: [Int] = []
        for (place, working) in inserted.enumerated() where !working.entity.uniqueness.isEmpty {
            let keys = try working.entity.uniqueness.compactMap { index in
                try storedOwner(index, working) == nil ? key(index, working) : nil
            }
            let start = cuts.last ?? 0
            if keys.contains(where: { first[$0] ?? -1 >= start }) { cuts.append(place) }
            for key in keys where first[key] == nil { first[key] = place }
        }
        return cuts
    }

    private func isConcerned(_ working: WorkingObject, _ index: CompiledIndex) -> Bool {
        working.isInserted || !working.written.intersection(index.mask).isEmpty
    }

    /// Another object with the same tuple, in this save or in the store.
    private func owner(
        _ index: CompiledIndex, _ working: WorkingObject, _ taken: inout [[UInt8]: ObjectReference]
    ) throws -> ObjectReference? {
        guard let key = key(index, working) else { return nil }
        if let other = taken.updateValue(working.object, forKey: key) { return other }
        return try storedOwner(index, working)
    }

    /// What stands for a tuple; nil for one in which a value is missing, as that equals nothing.
    private func key(_ index: CompiledIndex, _ working: WorkingObject) -> [UInt8]? {
        guard index.slots.allSatisfy({ !working.value($0).isNull }) else { return nil }
        var key = KeyEncoder()
        key.append(tag: index.id)
        for slot in index.slots { key.append(working.value(slot)) }
        return key.bytes
    }

    /// The object of the store with the same tuple, as the save leaves it.
    private func storedOwner(
        _ index: CompiledIndex, _ working: WorkingObject
    ) throws -> ObjectReference? {
        guard let owner = try store.owner(of: index, working.row, working.entity),
            owner.number != working.object.number, holds(owner, index)
        else { return nil }
        return owner
    }

    /// False when this very save deletes the owner or gives it other values.
    private func holds(_ owner: ObjectReference, _ index: CompiledIndex) -> Bool {
        guard let working = graph.objects[owner.number] else { return true }
        if working.isDeleted { return false }
        guard let stored = working.stored else { return true }
        return index.slots.allSatisfy {
            stored.row.uncheckedValue($0, in: working.entity) == working.value($0)
        }
    }

    private func canBecomeOne(_ working: WorkingObject, with owner: ObjectReference) -> Bool {
        policy != .error && working.isInserted && owner.tag == working.object.tag
            && graph.objects[owner.number]?.isInserted != true
    }

    private func problem(
        _ working: WorkingObject, _ index: CompiledIndex, _ owner: ObjectReference
    ) -> ValidationProblem {
        let values = index.slots.map { working.value($0).excerpt() }.joined(separator: ", ")
        return ValidationProblem(
            object: model.id(of: working.object), property: index.properties.joined(separator: ","),
            message:
                "\(values) is taken by \(model.id(of: owner)); choose another value")
    }
}
