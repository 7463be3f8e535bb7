import TandemModel

/// An object that is bound to one row after another while values are made of the rows.
///
/// While bound it behaves like any object: the context finds it, its relationships work, and it can
/// be edited. If code keeps a reference to it, or it has gained state beyond its row, it stays
/// bound to that row, and a new flyweight is made.
final class PassingObject {
    /// The entity of the rows.
    let entity: CompiledEntity
    /// The current flyweight; nil if there is none.
    @exclusivity(unchecked) private var object: ManagedObject?
    /// An unretained reference to `object`; valid while `object` is set.
    @exclusivity(unchecked) private var unretained: Unmanaged<ManagedObject>?
    /// An unretained reference to the object's record; valid while `object` is set.
    @exclusivity(unchecked) private var record: Unmanaged<ObjectRecord>?
    /// The row view that the record uses while bound.
    private let lent = UnsafeMutablePointer<RowView>.allocate(capacity: 1)
    /// Whether objects of the class have no state but their rows.
    ///
    /// Nil before the first object was inspected.
    private var isClassPlain: Bool?

    init(_ entity: CompiledEntity) {
        self.entity = entity
        lent.initialize(to: RowView(UnsafeRawBufferPointer(start: nil, count: 0)))
    }

    deinit { lent.deallocate() }

    /// Calls `body` with an object bound to a borrowed row.
    ///
    /// The context must have no record of that object. Throws `storage` if the bytes are not a row
    /// of the entity.
    func stand(
        for reference: ObjectReference, version: UInt64, row: RowView, _ rows: PassingRows,
        _ body: (ManagedObject) -> Void
    ) throws(TandemError) {
        guard row.isValid(for: entity) else {
            throw ManagedObjectContext.unreadable(reference, entity)
        }
        lent.pointee = row
        if !take(reference, version, rows) { make(reference, version: version, rows) }
        withObject(body)
        leave(rows)
    }

    /// Calls `body` with the object, without retaining it.
    ///
    /// This is safe because only ``make(_:version:_:)``, ``leave(_:)`` and ``end()`` release the
    /// object, and none of them runs during the call.
    @inline(__always) @discardableResult
    private func withObject<Result>(_ body: (ManagedObject) -> Result) -> Result? {
        unretained?._withUnsafeGuaranteedRef(body)
    }

    /// Binds the existing object to another row; returns false if there is no object.
    @inline(__always)
    private func take(
        _ reference: ObjectReference, _ version: UInt64, _ rows: PassingRows
    ) -> Bool {
        guard let record else { return false }
        record._withUnsafeGuaranteedRef { $0.pass(as: reference, lent, version: version) }
        rows.passage.pass(record)
        return true
    }

    private func make(_ reference: ObjectReference, version: UInt64, _ rows: PassingRows) {
        let record = ObjectRecord(reference, entity)
        record.pass(as: reference, lent, version: version)
        rows.passage.pass(.passUnretained(record))
        let type = rows.context.core.type(for: entity, in: rows.context.session?.model)
        let new = type.init(binding: ObjectBinding(context: rows.context, record: record))
        // The subclass's initializer may have read other rows, which makes the record permanent.
        if record.isPassing { record.lend(new) } else { record.object = new }
        new.pass(among: rows)
        object = new
        (unretained, self.record) = (.passUnretained(new), .passUnretained(record))
    }

    /// Ends the binding, and keeps the object if it can be reused.
    private func leave(_ rows: PassingRows) {
        let isPassing = rows.passage.leave()
        if isPassing, isKnownUniquelyReferenced(&object), withObject({ $0.passOn() }) == true {
            if !isPlain() { end() }
        } else {
            letStay(isPassing, rows)
        }
    }

    /// Binds the object to its row permanently, and releases it.
    private func letStay(_ isPassing: Bool, _ rows: PassingRows) {
        if isPassing, let object { rows.context.records.keep(object.record) }
        object?.stay()
        drop()
    }

    /// Copies the last row into the object and releases it.
    ///
    /// A subclass may still read the row while it is deinitialised.
    func end() {
        if let object {
            object.record.drop(object)
            object.record.row = Row(bytes: Array(lent.pointee.bytes))
            object.stay()
        }
        drop()
    }

    private func drop() {
        (unretained, record) = (nil, nil)
        object = nil
    }

    private func isPlain() -> Bool {
        if let isClassPlain { return isClassPlain }
        let isPlain = object.map(ManagedClassValidator.isPlain) ?? false
        isClassPlain = isPlain
        return isPlain
    }
}
