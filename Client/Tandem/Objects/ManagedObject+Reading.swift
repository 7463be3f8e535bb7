import TandemModel

// Fast reads of `Managed` properties from rows in place. For a loaded, unedited object and a cached
// property name, a read costs one lookup in the name table and one in the row. All other reads go
// through `subscript`.
extension ManagedObject {
    /// Returns a Boolean attribute, or nil if it has no value.
    @usableFromInline
    func bool(_ name: _ManagedName) -> Bool? {
        if let found = inPlace(name, { $0.bool($1) }) { return found }
        return Bool(attribute: self[property(name)])
    }

    /// Returns an integer attribute, or nil if it has no value.
    @usableFromInline
    func int(_ name: _ManagedName) -> Int64? {
        if let found = inPlace(name, { $0.int($1) }) { return found }
        return Int64(attribute: self[property(name)])
    }

    /// Returns a double-precision attribute, or nil if it has no value.
    @usableFromInline
    func double(_ name: _ManagedName) -> Double? {
        if let found = inPlace(name, { $0.double($1) }) { return found }
        return Double(attribute: self[property(name)])
    }

    /// Returns a date in seconds since 1970, or nil if it has no value.
    @usableFromInline
    func date(_ name: _ManagedName) -> Double? {
        if let found = inPlace(name, { $0.date($1) }) { return found }
        guard case .date(let value) = self[property(name)] else { return nil }
        return value
    }

    /// Returns a string attribute, or nil if it has no value.
    @usableFromInline
    func text(_ name: _ManagedName) -> String? {
        if let found = inPlace(name, { $0.text($1) }) { return found }
        return String(attribute: self[property(name)])
    }

    /// Returns the value of an attribute, or null if it has none.
    @usableFromInline
    func value(_ name: _ManagedName) -> PropertyValue { self[property(name)] }

    /// Reads a property from the row in place.
    ///
    /// Returns nil if that is not possible, and a wrapped nil if the property has no value.
    @inline(__always)
    func inPlace<Result>(
        _ name: _ManagedName, _ read: (RowView, RowColumn) -> Result?
    ) -> Result?? {
        guard let entry = properties.entry(name, in: record.entity), let column = entry.column
        else { return nil }
        access(entry.slot)
        return record.withCleanRow { $0.found(column, read) }
    }

    /// Returns the value of a property in the row, or nil if the value can't be read in place.
    func inPlaceValue(_ name: _ManagedName) -> PropertyValue? {
        guard let entry = properties.entry(name, in: record.entity) else { return nil }
        access(entry.slot)
        return record.withCleanRow { $0.value(entry.slot, in: record.entity) }
    }

    /// Returns the object that this object's row refers to, or nil if the target is deleted.
    func target(_ reference: ObjectReference) -> ManagedObject? {
        guard let context = managedObjectContext,
            context.session?.model.entity(tagged: reference.tag) != nil
        else { return nil }
        let target = context.graph.record(reference)
        return target.isDeleted ? nil : context.graph.object(of: target)
    }
}

extension RowView {
    /// Returns the result of `read`, wrapped, or nil if `read` can't read the value of the column.
    @inline(__always)
    func found<Result>(
        _ column: RowColumn, _ read: (RowView, RowColumn) -> Result?
    ) -> Result?? {
        if let value = read(self, column) { return .some(value) }
        return isNull(column) ? .some(nil) : nil
    }
}
