import TandemModel

/// The positions at which rows were last written.
///
/// Those of a single transaction are all its own, so that nothing has to be filled in; others lie in a table by number.
struct RowVersions: Sendable {
    private var written: (position: UInt64, changes: ChangeTable)?
    /// What no single transaction tells.
    private(set) var others: [ObjectNumber: UInt64]

    /// Versions by number.
    init(_ others: [ObjectNumber: UInt64] = [:]) { self.others = others }

    /// Those of the rows that one transaction wrote.
    init(_ changes: ChangeTable, at position: UInt64) {
        written = (position, changes)
        others = [:]
    }

    /// The version of an object's row; nil where it isn't known.
    subscript(number: ObjectNumber) -> UInt64? {
        get {
            if let other = others[number] { return other }
            guard let written, let at = written.changes.index(of: number) else { return nil }
            return written.changes.all[at].kind.writesRow ? written.position : nil
        }
        set { others[number] = newValue }
    }

    /// Takes over others where they are higher.
    mutating func merge(_ later: RowVersions) {
        if let written = later.written {
            for at in written.changes.all.indices where written.changes.all[at].kind.writesRow {
                let number = written.changes.all[at].object.number
                others[number] = max(others[number] ?? 0, written.position)
            }
        }
        others.merge(later.others) { max($0, $1) }
    }
}

extension Change.Kind {
    /// Whether there is a new row afterwards.
    var writesRow: Bool { self == .insert || self == .update }
}
