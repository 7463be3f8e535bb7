import TandemModel

// Fast reads of `Managed` properties from rows in place. For a loaded, unedited object and a cached
// property name, a read costs one lookup in the name table and one in the row. All other reads go
// through `subscript`.
extension ManagedObject {
    /// Returns a Boolean attribute, or nil if it has no value.
    @usableFromInline
    func bool(_ name: ManagedName) -> Bool? {
        if let found = inPlace(name, { $0.bool($1) }) { return found }
        return Bool(attribute: self[property(name)])
    }

    /// Returns an integer attribute, or nil if it has no value.
    @usableFromInline
    func int(_ name: ManagedName) -> Int64? {
        if let found = inPlace(name, { $0.int($1) }) { return found }
        return Int64(attribute: self[property(name)])
    }

    /// Returns a double-precision attribute, or nil if it has no value.
    @usableFromInline
    func double(_ name: ManagedName) -> Double? {
        if let found = inPlace(name, { $0.double($1) }) { return found }
        return Double(attribute: self[property(name)])
    }

    /// Returns a date in seconds since 1970, or nil if it has no value.
    @usableFromInline
    func date(_ name: ManagedName) -> Double? {
        if let found = inPlace(name, { $0.date($1) }) { return found }
        guard case .date(let value) = self[property(name)] else { return nil }
        return value
    }

    /// Returns a string attribute, or nil if it has no value.
    @usableFromInline
    func text(_ name: ManagedName) -> String? {
        if let found = inPlace(name, { $0.text($1) }) { return found }
        return String(attribute: self[property(name)])
    }

    /// Returns the cached target of a to-one relationship if this object is a flyweight.
    func passedTarget(_ name: ManagedName) -> ManagedObject? {
        guard let passing else { return nil }
        let found = inPlace(name) { $0.reference($1) }
        guard let found, let target = found else { return nil }
        return passing._withUnsafeGuaranteedRef { $0.target(target) }
    }

    /// Reads a property from the row in place.
    ///
    /// Returns nil if that is not possible, and a wrapped nil if the property has no value.
    @inline(__always)
    private func inPlace<Result>(
        _ name: ManagedName, _ read: (RowView, RowColumn) -> Result?
    ) -> Result?? {
        guard let place = properties.place(name, in: record.entity), let column = place.column
        else { return nil }
        access(place.slot)
        // Nothing is retained: the row is borrowed for longer than this call.
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
