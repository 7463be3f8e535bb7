package import TandemModel

/// An operation of a save on one object.
package enum SaveOperation: WireCodable {
    /// An insert with the values that were set; the daemon adds the defaults, and no link may be a
    /// removal.
    case insert(object: ObjectReference, values: [SlotValue], links: [LinkChange])
    /// An update of values and links, based on a version; 0 accepts any stored version.
    ///
    /// With the policy `overwrite`, the values include every attribute and to-one relationship.
    case update(
        object: ObjectReference, baseVersion: UInt64, values: [SaveValue], links: [LinkChange])
    /// A deletion, based on a version; 0 accepts any stored version.
    case delete(object: ObjectReference, baseVersion: UInt64)

    /// The object.
    package var object: ObjectReference {
        switch self {
        case .insert(let object, _, _), .update(let object, _, _, _), .delete(let object, _):
            object
        }
    }

    /// The smallest size of an operation in bytes.
    static let minimumBytes = 13

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        switch self {
        case .insert(let object, let values, let links):
            writer.beginInsert(object)
            writer.list(values) { $0.slotValue($1) }
            writer.list(links) { $0.link($1) }
        case .update(let object, let baseVersion, let values, let links):
            writer.beginUpdate(object, baseVersion)
            writer.list(values)
            writer.list(links) { $0.link($1) }
        case .delete(let object, let baseVersion):
            writer.delete(object, baseVersion)
        }
    }

    /// Reads the binary form; throws `CodingError` if it is invalid or an insert removes links.
    package init(from reader: inout ByteReader) throws(CodingError) {
        let start = reader.offset
        let kind = try reader.uint8()
        let object = try reader.reference()
        switch kind {
        case 1:
            let values = try reader.list(itemBytes: 2, limit: PropertyMask.capacity) {
                reader throws(CodingError) in
                try reader.slotValue()
            }
            let links = try reader.links()
            guard links.allSatisfy({ $0.action != .remove }) else {
                throw CodingError(expected: "an insert that removes no links", offset: start)
            }
            self = .insert(object: object, values: values, links: links)
        case 2:
            let version = try reader.uint64()
            let values = try reader.list(
                of: SaveValue.self, itemBytes: 3, limit: PropertyMask.capacity)
            self = .update(
                object: object, baseVersion: version, values: values, links: try reader.links())
        case 3: self = .delete(object: object, baseVersion: try reader.uint64())
        default: throw CodingError(expected: "a kind of save operation", offset: start)
        }
    }
}
