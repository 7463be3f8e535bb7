/// An insert whose result can't be derived from the transaction's inserted objects.
package struct InsertException: Hashable, Sendable {
    /// The zero-based index of the insert among those of the save.
    package var index: Int
    /// The resulting object; nil if the same save deleted it.
    package var object: ObjectReference?

    /// Creates an exception: the insert at `index` resulted in `object`.
    package init(index: Int, object: ObjectReference?) {
        self.index = index
        self.object = object
    }
}

extension Transaction {
    /// The inserted objects, by number.
    @usableFromInline package var insertedObjects: [ObjectReference] {
        changes.filter { $0.kind == .insert }.map(\.object).sorted()
    }

    /// The object that each of the save's inserts resulted in, in order; nil if there is none.
    ///
    /// New objects, in the order of their numbers, fill the indexes between the exceptions. A save
    /// that inserts only new objects has no exceptions.
    package var outcomes: [ObjectReference?] { outcomes(inserted: insertedObjects) }

    /// Returns ``outcomes``, given the inserted objects by number, for a transaction decoded
    /// without its content.
    package func outcomes(inserted: [ObjectReference]) -> [ObjectReference?] {
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

    /// Returns the transaction with the exceptions that result in the given ``outcomes``.
    package func withOutcomes(_ outcomes: [ObjectReference?]) -> Transaction {
        if outcomes.isEmpty, exceptions.isEmpty { return self }
        let inserted = Set(insertedObjects)
        let own = outcomes.compactMap { $0 }.filter { inserted.contains($0) }
        // If the inserts are not in the order of their numbers, all of them are exceptions.
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
    /// The minimum size of an encoded exception in bytes.
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
