/// An insert of a save that did not simply become a new object.
public struct InsertException: Hashable, Sendable {
    /// Which of the saver's inserts, counted from 0 in their order.
    public var index: Int
    /// The object that stands for it; nil when the same save deleted it.
    public var object: ObjectReference?

    /// The insert `index` became `object`.
    public init(index: Int, object: ObjectReference?) {
        self.index = index
        self.object = object
    }
}

extension Transaction {
    /// The objects that came into being, by number.
    public var insertedObjects: [ObjectReference] {
        changes.filter { $0.kind == .insert }.map(\.object).sorted()
    }

    /// What each of the saver's inserts became, in its order: the object that stands for it, or nil for none.
    ///
    /// New objects fill the places between the exceptions by number; so a save of new objects alone has none.
    public var outcomes: [ObjectReference?] { outcomes(inserted: insertedObjects) }

    /// The same, where the new objects are known by number and the content is not at hand.
    public func outcomes(inserted: [ObjectReference]) -> [ObjectReference?] {
        if exceptions.isEmpty { return inserted }
        let named = Set(exceptions.compactMap(\.object))
        let others = inserted.filter { !named.contains($0) }
        var rest = others[...]
        var next = exceptions[...]
        return (0..<(others.count + exceptions.count)).map { index in
            if next.first?.index == index { return next.removeFirst().object }
            return rest.popFirst()
        }
    }

    /// The same transaction with the exceptions from which ``outcomes`` follow.
    public func withOutcomes(_ outcomes: [ObjectReference?]) -> Transaction {
        if outcomes.isEmpty, exceptions.isEmpty { return self }
        let inserted = Set(insertedObjects)
        let own = outcomes.compactMap { $0 }.filter { inserted.contains($0) }
        // Inserted in another order than that of their numbers, all are named.
        let isDerived = own == own.sorted()
        var copy = self
        copy.exceptions = outcomes.enumerated().compactMap { index, object in
            if isDerived, let object, inserted.contains(object) { return nil }
            return InsertException(index: index, object: object)
        }
        return copy
    }
}

extension InsertException {
    /// The fewest bytes that one takes.
    static let minimumBytes = 2

    func encode(into writer: inout ByteWriter) {
        writer.count(index)
        writer.bool(object != nil)
        if let object {
            writer.uint16(object.tag)
            writer.uint64(object.number)
        }
    }

    static func list(from reader: inout ByteReader) throws(CodingError) -> [InsertException] {
        var exceptions: [InsertException] = []
        for _ in 0..<(try reader.count(itemBytes: minimumBytes)) {
            let start = reader.offset
            let index = try reader.varint()
            guard index < UInt64(UInt32.max), Int(index) > exceptions.last?.index ?? -1 else {
                throw CodingError(expected: "exceptions in the order of inserts", offset: start)
            }
            var object: ObjectReference?
            if try reader.bool() {
                let tag = try reader.uint16()
                object = ObjectReference(tag: tag, number: try reader.uint64())
            }
            exceptions.append(InsertException(index: Int(index), object: object))
        }
        return exceptions
    }
}
