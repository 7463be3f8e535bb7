import TandemModel

/// The positions at which rows were last written.
///
/// The versions of a single transaction follow from its change table, so no dictionary is filled.
/// Other versions are stored by number.
struct RowVersions: Sendable {
    /// The position of the single transaction, whose changes are in `written`.
    ///
    /// Both properties are unused if there are several transactions.
    private var position: UInt64 = 0
    private var written = ChangeTable.empty
    /// The versions that do not follow from the single transaction.
    private(set) var others: [ObjectNumber: UInt64]

    /// Creates a table of versions by number.
    init(_ others: [ObjectNumber: UInt64] = [:]) { self.others = others }

    /// Creates the versions of the rows that one transaction wrote.
    init(_ changes: ChangeTable, at position: UInt64) {
        written = changes
        self.position = position
        others = [:]
    }

    /// The version of an object's row, or nil if it is unknown.
    subscript(number: ObjectNumber) -> UInt64? {
        get {
            if !others.isEmpty, let other = others[number] { return other }
            guard let at = written.index(of: number) else { return nil }
            return version(at)
        }
        set { others[number] = newValue }
    }

    /// Returns the version of the row that the change at an index wrote, or nil if it wrote none.
    private func version(_ at: Int) -> UInt64? {
        written.all[at].kind.writesRow ? position : nil
    }

    /// Keeps the higher of two versions for each row.
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
    /// Whether the change writes a row.
    var writesRow: Bool { self == .insert || self == .update }
}
