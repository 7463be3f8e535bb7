import TandemModel

/// Keys and values as they come from the disk: whatever happened to them is an error, never a trap.
extension StoreView {
    /// The row in a value of the rows table.
    ///
    /// Throws `damaged` for bytes that are no row of the object's entity.
    func stored(
        _ object: ObjectReference, at value: UnsafeRawBufferPointer
    ) throws(StoreError) -> Stored {
        guard let stored = StoreView.stored(object, value) else {
            throw damaged(.rows, object.number, "a value of \(value.count) bytes")
        }
        guard let entity = model?.entity(tagged: object.tag), stored.row.hasShape(of: entity) else {
            throw damaged(.rows, object.number, "\(value.count) bytes that are no row")
        }
        return stored
    }

    /// The row in a value of the rows table, where it lies: until the next write.
    ///
    /// Throws `damaged` for bytes that are no row of the object's entity.
    func rowView(
        _ object: ObjectReference, at value: UnsafeRawBufferPointer
    ) throws(StoreError) -> RowView {
        try rowView(object, at: value, model?.entity(tagged: object.tag).map { RowShape(of: $0) })
    }

    /// The same by the shape of the entity's rows, nil where there is none, for who reads many of one.
    @inline(__always)
    func rowView(
        _ object: ObjectReference, at value: UnsafeRawBufferPointer, _ shape: RowShape?
    ) throws(StoreError) -> RowView {
        guard value.count >= StoreView.versionBytes + RowLayout.minimumRowBytes else {
            throw damaged(.rows, object.number, "a value of \(value.count) bytes")
        }
        let row = RowView(UnsafeRawBufferPointer(rebasing: value[StoreView.versionBytes...]))
        guard let shape, row.has(shape) else {
            throw damaged(.rows, object.number, "\(value.count) bytes that are no row")
        }
        return row
    }

    /// What comes before the row in a value.
    static let versionBytes = 8

    /// A row with its version, not checked against a model; nil for bytes that are too few for any.
    static func stored(_ object: ObjectReference, _ value: UnsafeRawBufferPointer) -> Stored? {
        guard value.count >= 8 + RowLayout.minimumRowBytes else { return nil }
        let version = UInt64(littleEndian: value.loadUnaligned(as: UInt64.self))
        let row = Row(bytes: Array(UnsafeRawBufferPointer(rebasing: value[8...])))
        return Stored(object: object, version: version, row: row)
    }

    /// The object of an entity whose number is all that a key has left.
    @inline(__always)
    func object(
        _ tag: EntityTag, _ key: UnsafeRawBufferPointer, in table: StoreTable
    ) throws(StoreError) -> ObjectReference {
        guard key.count == 8 else { throw damaged(table, 0, "a key that ends in no number") }
        return ObjectReference(tag: tag, number: key.bigEndian(0, as: UInt64.self))
    }

    /// The object whose number ends a key and whose tag is the value; a link that `isOrdered` may have a rank behind it.
    @inline(__always)
    func object(
        endOf key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in table: StoreTable,
        isOrdered: Bool = true
    ) throws(StoreError) -> ObjectReference {
        guard key.count >= 8 else { throw damaged(table, 0, "a key that ends in no number") }
        let number = key.bigEndian(key.count - 8, as: UInt64.self)
        // Behind the tag of a link in an order there is a rank.
        let hasRank = table == .links && isOrdered && value.count > 2
        let first = hasRank ? UnsafeRawBufferPointer(rebasing: value[..<2]) : value
        return ObjectReference(tag: try tag(first, of: number, in: table), number: number)
    }

    /// The rank behind the tag in the value of a link.
    func rank(
        _ value: UnsafeRawBufferPointer, of member: ObjectNumber
    ) throws(StoreError) -> Rank {
        guard value.count > 2, let rank = Rank(value[2...]) else {
            throw damaged(.links, member, "a link without a rank in an order")
        }
        return rank
    }

    /// The tag that is a value.
    @inline(__always)
    func tag(
        _ value: UnsafeRawBufferPointer, of number: ObjectNumber, in table: StoreTable
    ) throws(StoreError) -> EntityTag {
        guard value.count == 2 else {
            throw damaged(table, number, "a tag of \(value.count) bytes")
        }
        return value.bigEndian(0, as: UInt16.self)
    }

    /// The object in a value of the unique keys.
    func holder(_ value: UnsafeRawBufferPointer) throws(StoreError) -> ObjectReference {
        guard value.count == 10 else {
            throw damaged(.unique, 0, "a value of \(value.count) bytes")
        }
        return ObjectReference(
            tag: value.bigEndian(0, as: UInt16.self), number: value.bigEndian(2, as: UInt64.self))
    }

    @inline(never)
    func damaged(_ table: StoreTable, _ number: ObjectNumber, _ what: String) -> StoreError {
        let place = number == 0 ? "" : ", object \(number)"
        return StoreError(
            .damaged,
            "the store at \(path) has \(what) in its table \(table.rawValue)\(place); run "
                + "`tandem check`")
    }
}
