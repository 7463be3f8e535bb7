/// The losses in a ``Store/salvage(recovering:)``, counted by entity or property.
package struct StoreLosses: Hashable, Sendable {
    /// A kind of loss, and what the salvage did about it.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A row that is missing or can't be read; the object was removed.
        case row
        /// A row from before a gap in the journal, which replaces a lost row; the object was kept.
        case laterChanges
        /// A row changed after the store's position; the row was kept.
        case version
        /// A reference to a lost object, or to an object that refers to a different one; the
        /// reference was set to null.
        case reference
        /// A unique value that two objects have; the value was set to null in one of them.
        case uniqueValue
        /// A long value whose blob is missing or wrong; the value was set to null.
        case content
        /// The rank of a member in an ordered relationship; the member was put at the end.
        case rank
    }

    private struct Key: Hashable {
        var kind: Kind
        var name: String
    }

    private var counts: [Key: Int] = [:]
    /// The number of objects recovered from a journal, by entity.
    package internal(set) var recoveredObjects: [String: Int] = [:]
    /// The number of blobs recovered from a journal.
    package internal(set) var recoveredContents = 0
    /// The number of faults that were repaired using the rows.
    package internal(set) var repaired = 0

    /// Creates an empty count of losses.
    package init() {}

    /// Whether nothing is lost.
    package var isEmpty: Bool { counts.isEmpty }

    mutating func add(_ kind: Kind, _ name: String) {
        counts[Key(kind: kind, name: name), default: 0] += 1
    }

    /// One line for each kind of loss and entity or property.
    package var lines: [String] {
        Kind.allCases.flatMap { kind in
            counts.filter { $0.key.kind == kind }.sorted { $0.key.name < $1.key.name }.map {
                let (one, many, reason) = kind.words
                return "\($0.value) \($0.value == 1 ? one : many) of \($0.key.name): \(reason)"
            }
        }
    }

    /// One line for each entity with recovered objects, and one for recovered blobs.
    package var recoveredLines: [String] {
        let objects = recoveredObjects.sorted { $0.key < $1.key }.map {
            "\($0.value) \($0.value == 1 ? "object" : "objects") of \($0.key)"
        }
        guard recoveredContents > 0 else { return objects }
        return objects + ["\(recoveredContents) content\(recoveredContents == 1 ? "" : "s")"]
    }
}

extension StoreLosses.Kind {
    /// The nouns for one loss and for several, and the reason.
    fileprivate var words: (one: String, many: String, reason: String) {
        switch self {
        case .row: ("object", "objects", "the rows are missing or cannot be read")
        case .laterChanges:
            (
                "object", "objects",
                "recovered from before a gap in the journal, so later changes may be lost"
            )
        case .version: ("object", "objects", "changed after the store's position, kept")
        case .reference:
            ("value", "values", "set to null, because the targets are lost or do not refer back")
        case .uniqueValue: ("value", "values", "set to null, because another object has them")
        case .content: ("value", "values", "set to null, because the contents are lost")
        case .rank: ("member", "members", "put at the end, because the ranks are lost")
        }
    }
}
