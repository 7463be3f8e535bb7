public import TandemModel

/// The values of an object at one moment; Sendable, so it may leave the context's actor.
public struct ObjectSnapshot: Hashable, Sendable {
    /// The object.
    public var id: ObjectID
    /// The position of the save that last changed its row.
    public var version: UInt64
    /// Attributes and to-one relationships by name, pending edits included.
    public var values: [String: Value]
    /// The members of to-many relationships by name, where these were asked for.
    public var members: [String: [ObjectID]] = [:]

    /// A value by name; null when there is none.
    public subscript(property: String) -> Value { values[property] ?? .null }
}

extension ManagedObject {
    /// The values now, pending edits included; may block to load a fault.
    ///
    /// What is too long for a row is left as its reference, see ``PersistentContainer/content(of:)``.
    public var snapshot: ObjectSnapshot {
        var values: [String: Value] = [:]
        for property in entity.properties where !property.isToMany {
            // Loading may have brought another model.
            values[property.name] = record.entity.slot(of: property.name).map(storedValue)
        }
        return ObjectSnapshot(id: id, version: version, values: values)
    }

    /// The properties with unsaved edits and their new values; a to-many relationship shows null.
    public func changedValues() -> [String: Value] {
        var result: [String: Value] = [:]
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

    /// The values without unsaved edits, of some properties or all; what isn't held is left out.
    public func committedValues(forKeys names: [String]? = nil) -> [String: Value] {
        var result: [String: Value] = [:]
        for property in entity.properties where !property.isToMany {
            guard names?.contains(property.name) ?? true,
                let value = record.committedValue(property.slot)
            else { continue }
            result[property.name] = value
        }
        return result
    }
}
