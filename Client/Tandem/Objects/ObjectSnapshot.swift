public import TandemModel

/// The values of an object at one moment; Sendable, so that it may leave the context's actor.
public struct ObjectSnapshot: Hashable, Sendable {
    /// The object's id.
    public var id: ObjectID
    /// The position of the save that last changed the object's row.
    public var version: UInt64
    /// Attributes and to-one relationships by name, pending edits included.
    public var values: [String: PropertyValue]
    /// The members of to-many relationships by name, if they were requested.
    public var members: [String: [ObjectID]] = [:]

    /// Returns the value with this name, or null if there is none.
    public subscript(property: String) -> PropertyValue { values[property] ?? .null }
}

extension ManagedObject {
    /// The current values, pending edits included; may block to load a fault.
    ///
    /// A value too long for a row is included as a reference
    /// (``PersistentContainer/content(of:)``).
    public var snapshot: ObjectSnapshot {
        var values: [String: PropertyValue] = [:]
        for property in entity.properties where !property.isToMany {
            // Loading may have replaced the model.
            values[property.name] = record.entity.slot(of: property.name).map(storedValue)
        }
        return ObjectSnapshot(id: id, version: version, values: values)
    }

    /// Returns the new values of properties with unsaved edits; null for a to-many relationship.
    public func changedValues() -> [String: PropertyValue] {
        var result: [String: PropertyValue] = [:]
        for slot in record.pending.slots {
            let value = record.pending.values[slot] ?? .null
            if !record.isInserted, record.pending.values[slot] != nil,
                record.committedValue(slot) == value.inRow
            {
                continue
            }
            result[entity.properties[slot].name] = value
        }
        return result
    }

    /// Returns the values without unsaved edits, for the given properties or for all of them.
    ///
    /// Values that the context has not loaded are left out.
    public func committedValues(forKeys names: [String]? = nil) -> [String: PropertyValue] {
        var result: [String: PropertyValue] = [:]
        for property in entity.properties where !property.isToMany {
            guard names?.contains(property.name) ?? true,
                let value = record.committedValue(property.slot)
            else { continue }
            result[property.name] = value
        }
        return result
    }
}
