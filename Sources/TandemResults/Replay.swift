/// A section as a name and the numbers of its objects, in order.
@usableFromInline package struct SectionIDs: Hashable, Sendable {
    /// The section's name, which is its identity.
    package var name: String
    /// The numbers of the section's objects.
    package var numbers: [UInt64]

    /// Creates a section.
    package init(name: String, numbers: [UInt64]) {
        self.name = name
        self.numbers = numbers
    }
}

/// The error for a change that does not fit the sections to which it was applied.
public struct ReplayError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A description of the mismatch and its location.
    public var description: String

    init(_ description: String) {
        self.description = description
    }
}

extension ResultsChange {
    /// Applies the change by the rules of a table's batch update (law 5).
    ///
    /// Deleted sections and the sources of rows are checked against the old sections, insertions
    /// and targets against the new ones. No row may be left in a deleted section, and updated rows
    /// have to be at their target paths. Cost: O(n) for n objects in `old`.
    ///
    /// - Throws: `ReplayError` if the change does not apply to `old`.
    package func apply(to old: [SectionIDs]) throws(ReplayError) -> [SectionIDs] {
        var replay = Replay(old: old)
        for change in sections { try replay.apply(change) }
        for change in objects { try replay.apply(change) }
        let new = try replay.finish()
        for case .update(let number, _, _, let to) in objects {
            guard new.number(at: to) == number else {
                throw ReplayError("object \(number) is not at \(to) after its update")
            }
        }
        return new
    }
}

extension [SectionIDs] {
    /// Returns the number at a path; nil if the path does not exist.
    func number(at path: ResultsIndexPath) -> UInt64? {
        guard indices.contains(path.section) else { return nil }
        let numbers = self[path.section].numbers
        return numbers.indices.contains(path.item) ? numbers[path.item] : nil
    }
}

/// The state of applying one change.
private struct Replay {
    let old: [SectionIDs]
    /// The indexes of deleted sections.
    var deleted: Set<Int> = []
    /// The names of inserted sections, by new index.
    var inserted: [Int: String] = [:]
    /// The paths of removed rows.
    var sources: Set<ResultsIndexPath> = []
    /// The numbers of removed rows.
    var removed: Set<UInt64> = []
    /// The inserted rows, by new path.
    var targets: [ResultsIndexPath: UInt64] = [:]
    /// The numbers of inserted rows.
    var arrived: Set<UInt64> = []

    init(old: [SectionIDs]) {
        self.old = old
    }

    mutating func apply(_ change: ResultsChange.SectionChange) throws(ReplayError) {
        switch change {
        case .delete(let index, let name):
            guard old.indices.contains(index), old[index].name == name else {
                throw ReplayError("no section \"\(name)\" to delete at \(index)")
            }
            guard deleted.insert(index).inserted else {
                throw ReplayError("section \(index) is deleted twice")
            }
        case .insert(let index, let name):
            guard inserted.updateValue(name, forKey: index) == nil else {
                throw ReplayError("two sections are inserted at \(index)")
            }
        }
    }

    mutating func apply(_ change: ResultsChange.ObjectChange) throws(ReplayError) {
        switch change {
        case .insert(let number, _, let to): try put(number, at: to)
        case .delete(let number, _, let from): try remove(number, at: from)
        case .move(let number, _, let from, let to):
            try remove(number, at: from)
            try put(number, at: to)
        case .update(let number, _, let from, _):
            guard old.number(at: from) == number else {
                throw ReplayError("object \(number) to update is not at \(from)")
            }
            guard !deleted.contains(from.section) else {
                throw ReplayError("object \(number) is updated in the deleted section at \(from)")
            }
        }
    }

    private mutating func remove(_ number: UInt64, at path: ResultsIndexPath) throws(ReplayError) {
        guard old.number(at: path) == number else {
            throw ReplayError("object \(number) is not at \(path)")
        }
        guard sources.insert(path).inserted else {
            throw ReplayError("object \(number) is removed from \(path) twice")
        }
        removed.insert(number)
    }

    private mutating func put(_ number: UInt64, at path: ResultsIndexPath) throws(ReplayError) {
        guard targets.updateValue(number, forKey: path) == nil else {
            throw ReplayError("two objects are inserted at \(path)")
        }
        guard arrived.insert(number).inserted else {
            throw ReplayError("object \(number) is inserted twice")
        }
    }

    mutating func finish() throws(ReplayError) -> [SectionIDs] {
        for section in old.indices {
            for number in old[section].numbers where arrived.contains(number) {
                guard removed.contains(number) else {
                    throw ReplayError("object \(number) is inserted, but is already in the list")
                }
            }
        }
        var new = try remainingSections()
        for section in new.indices { try fill(&new[section].numbers, at: section) }
        guard let (path, number) = targets.min(by: { $0.key < $1.key }) else { return new }
        throw ReplayError("object \(number) is inserted at \(path), beyond the end")
    }

    /// Returns the new sections with only the rows that stay.
    private mutating func remainingSections() throws(ReplayError) -> [SectionIDs] {
        var survivors: [SectionIDs] = []
        for (index, section) in old.enumerated() {
            let rest = section.numbers.enumerated().filter { item, _ in
                !sources.contains(ResultsIndexPath(section: index, item: item))
            }
            if deleted.contains(index) {
                guard let (item, number) = rest.first else { continue }
                let path = ResultsIndexPath(section: index, item: item)
                throw ReplayError("object \(number) at \(path) is left in a deleted section")
            }
            survivors.append(SectionIDs(name: section.name, numbers: rest.map(\.element)))
        }
        for (index, name) in inserted.sorted(by: { $0.key < $1.key }) {
            guard (0...survivors.count).contains(index) else {
                throw ReplayError("section \"\(name)\" is inserted at \(index), beyond the end")
            }
            survivors.insert(SectionIDs(name: name, numbers: []), at: index)
        }
        return survivors
    }

    /// Inserts the new rows of a section between those that stay.
    private mutating func fill(_ numbers: inout [UInt64], at section: Int) throws(ReplayError) {
        var filled: [UInt64] = []
        var staying = numbers[...]
        while true {
            let path = ResultsIndexPath(section: section, item: filled.count)
            if let number = targets.removeValue(forKey: path) {
                filled.append(number)
            } else if let number = staying.popFirst() {
                filled.append(number)
            } else {
                break
            }
        }
        numbers = filled
    }
}
