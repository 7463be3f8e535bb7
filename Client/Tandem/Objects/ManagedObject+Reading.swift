import TandemModel

// What a `Managed` reads where it lies. Of an object that is loaded and not edited, and of a property whose name was asked for before, that
// is a look into the table of names and one at the row; everything else goes by `subscript`.
extension ManagedObject {
    /// A Boolean attribute; nil where there is none.
    @usableFromInline
    func bool(_ name: ManagedName) -> Bool? {
        if let found = inPlace(name, { $0.bool($1) }) { return found }
        return Bool(attribute: self[property(name)])
    }

    /// An integer attribute; nil where there is none.
    @usableFromInline
    func int(_ name: ManagedName) -> Int64? {
        if let found = inPlace(name, { $0.int($1) }) { return found }
        return Int64(attribute: self[property(name)])
    }

    /// An attribute of double precision; nil where there is none.
    @usableFromInline
    func double(_ name: ManagedName) -> Double? {
        if let found = inPlace(name, { $0.double($1) }) { return found }
        return Double(attribute: self[property(name)])
    }

    /// A date as seconds since 1970; nil where there is none.
    @usableFromInline
    func date(_ name: ManagedName) -> Double? {
        if let found = inPlace(name, { $0.date($1) }) { return found }
        guard case .date(let value) = self[property(name)] else { return nil }
        return value
    }

    /// A text; nil where there is none.
    @usableFromInline
    func text(_ name: ManagedName) -> String? {
        if let found = inPlace(name, { $0.text($1) }) { return found }
        return String(attribute: self[property(name)])
    }

    /// The object at the end of a to-one relationship, if this one passes by and others led there lately.
    func passedTarget(_ name: ManagedName) -> ManagedObject? {
        guard let passing else { return nil }
        let found = inPlace(name) { $0.reference($1) }
        guard let found, let target = found else { return nil }
        return passing._withUnsafeGuaranteedRef { $0.target(target) }
    }

    /// Reads a property where it lies; nil if that can't be done so, nil in it if there is no value.
    @inline(__always)
    private func inPlace<Result>(
        _ name: ManagedName, _ read: (RowView, RowColumn) -> Result?
    ) -> Result?? {
        guard let place = properties.place(name, in: record.entity), let column = place.column
        else { return nil }
        access(place.slot)
        // Nothing is held for it: the row is lent for longer than this takes.
        if let row = record.cleanLentRow { return Self.read(row, column, read) }
        return record.withCleanRow { Self.read($0, column, read) }
    }

    @inline(__always)
    private static func read<Result>(
        _ row: RowView, _ column: RowColumn, _ read: (RowView, RowColumn) -> Result?
    ) -> Result?? {
        if let value = read(row, column) { return .some(value) }
        return row.isNull(column) ? .some(nil) : nil
    }
}
