import TandemModel

/// The positions at which rows were last written.
///
/// Those of a single transaction are all its own, so that nothing has to be filled in; others lie in a table by number.
struct RowVersions: Sendable {
    /// The transaction, and what it changed; nothing where there are several.
    private var position: UInt64 = 0
    private var written = ChangeTable.empty
    /// What no single transaction tells.
    private(set) var others: [ObjectNumber: UInt64]

    /// Versions by number.
    init(_ others: [ObjectNumber: UInt64] = [:]) { self.others = others }

    /// Those of the rows that one transaction wrote.
    init(_ changes: ChangeTable, at position: UInt64) {
        written = changes
        self.position = position
        others = [:]
    }

    /// The version of an object's row; nil where it isn't known.
    subscript(number: ObjectNumber) -> UInt64? {
        get {
            if !others.isEmpty, let other = others[number] { return other }
            guard let at = written.index(of: number) else { return nil }
            return version(at)
        }
        set { others[number] = newValue }
    }

    /// The version of what the transaction's change at a place wrote, if it wrote a row.
    private func version(_ at: Int) -> UInt64? {
        written.all[at].kind.writesRow ? position : nil
    }

    /// Takes over others where they are higher.
    mutating func merge(_ later: RowVersions) {
        for at in later.written.all.indices {
            guard let version = later.version(at) else { continue }
            let number = later.written.all[at].object.number
            others[number] = max(others[number] ?? 0, version)
        }
        others.merge(later.others) { max($0, $1) }
    }
}

extension Change.Kind {
    /// Whether there is a new row afterwards.
    var writesRow: Bool { self == .insert || self == .update }
}
