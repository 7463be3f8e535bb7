public import TandemModel

/// The base, local and stored values of an object that caused a save conflict.
public struct ConflictDetails: Hashable, Sendable {
    /// The object.
    public var object: ObjectID
    /// The values on which the edits are based.
    public var base: [String: PropertyValue]
    /// The values including the edits.
    public var ours: [String: PropertyValue]
    /// The values in the store, or nil if the object was deleted there.
    public var theirs: [String: PropertyValue]?
}
