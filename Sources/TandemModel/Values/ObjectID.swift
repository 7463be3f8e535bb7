/// The number of an object, unique in the store across all entities and never reused.
@usableFromInline package typealias ObjectNumber = UInt64

/// The number that identifies an entity in the rows, links and change sets of a store.
@usableFromInline package typealias EntityTag = UInt16

/// A reference to an object as rows and links store it: entity tag and number, 10 bytes.
public struct ObjectReference: Hashable, Sendable, Comparable {
    /// The most derived entity of the object.
    @usableFromInline package var tag: EntityTag
    /// The object's number.
    @usableFromInline package var number: ObjectNumber

    /// Creates a reference to object `number` of the entity `tag`.
    @inlinable
    package init(tag: EntityTag, number: ObjectNumber) {
        self.tag = tag
        self.number = number
    }

    /// Compares by number, the tie-breaker of every order.
    @inlinable
    public static func < (a: ObjectReference, b: ObjectReference) -> Bool { a.number < b.number }
}

/// The permanent identity of an object, assigned when the object is inserted.
///
/// Ids are values that can be passed between contexts and processes, and stored in files. The
/// printed form is `Team/33`.
///
///     let id = ObjectID("Team/33")
public struct ObjectID: Hashable, Sendable, Comparable, LosslessStringConvertible {
    /// The object's own, most derived entity.
    public let entity: String
    /// The object's number, unique in the store across all entities.
    public let number: UInt64

    /// Creates the id of object `number` of `entity`.
    public init(entity: String, number: UInt64) {
        self.entity = entity
        self.number = number
    }

    /// Parses `Team/33`; returns nil for anything else.
    public init?(_ description: String) {
        var description = description
        guard let id = description.withUTF8({ Self(utf8: $0) }) else { return nil }
        self = id
    }

    private init?(utf8 text: UnsafeBufferPointer<UInt8>) {
        guard let slash = text.lastIndex(of: UInt8(ascii: "/")), slash > 0, slash + 1 < text.count
        else { return nil }
        var number: ObjectNumber = 0
        for byte in text[(slash + 1)...] {
            guard (0x30...0x39).contains(byte) else { return nil }
            let (tens, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isLarger) = tens.addingReportingOverflow(ObjectNumber(byte - 0x30))
            guard !isTooLarge, !isLarger else { return nil }
            number = sum
        }
        let entity = String(decoding: UnsafeBufferPointer(rebasing: text[..<slash]), as: UTF8.self)
        self.init(entity: entity, number: number)
    }

    /// The printed form, `Team/33`.
    public var description: String { "\(entity)/\(number)" }

    /// Compares by number, the tie-breaker of every order.
    public static func < (a: ObjectID, b: ObjectID) -> Bool { a.number < b.number }

    /// Returns whether the numbers are equal, which is sufficient: a number occurs only once in a
    /// store.
    public static func == (a: ObjectID, b: ObjectID) -> Bool { a.number == b.number }

    /// Hashes only the number, which is unique.
    public func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

/// Ids are coded as their printed form, `Team/33`; `#Predicate` requires captured values to be
/// codable.
extension ObjectID: Codable {
    /// Reads the printed form; throws `DecodingError` for anything else.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let id = ObjectID(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "expected the id of an object, such as Team/33")
        }
        self = id
    }

    /// Writes the printed form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
