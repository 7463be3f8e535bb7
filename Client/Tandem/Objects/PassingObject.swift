import TandemModel

/// An object that stands for one row after the other while values are made of them.
///
/// For its row it is what any object is: the context finds it, its relationships lead to it, it can be edited. If somebody keeps it,
/// or more than its row is known afterwards, it stays the object of that row, and another one passes by.
final class PassingObject {
    /// The entity of its rows.
    let entity: CompiledEntity
    /// The object, while it stands for a row or may stand for another one.
    @exclusivity(unchecked) private var object: ManagedObject?
    /// The same object, for calls that retain nothing: guarded by it.
    @exclusivity(unchecked) private var unretained: Unmanaged<ManagedObject>?
    /// Its record, likewise: the object has it whenever it takes another row.
    @exclusivity(unchecked) private var record: Unmanaged<ObjectRecord>?
    /// What its record has while it stands for a row.
    private let lent = UnsafeMutablePointer<RowView>.allocate(capacity: 1)
    /// Whether nothing but their rows tells objects of the class apart; nil until one was looked at.
    private var isClassPlain: Bool?

    init(_ entity: CompiledEntity) {
        self.entity = entity
        lent.initialize(to: RowView(UnsafeRawBufferPointer(start: nil, count: 0)))
    }

    deinit { lent.deallocate() }

    /// Stands for a row of which the context has no record, and which is lent, while `body` is called.
    ///
    /// Throws `storage` for bytes that are no row of the entity.
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

    /// Calls `body` with the object, which is held here and by nobody else unless `body` keeps it.
    ///
    /// Nothing is retained for the call: what holds the object is changed by ``make(_:version:_:)``, ``leave(_:)`` and ``end()`` only, and
    /// these are not called meanwhile.
    @inline(__always) @discardableResult
    private func withObject<Result>(_ body: (ManagedObject) -> Result) -> Result? {
        unretained?._withUnsafeGuaranteedRef(body)
    }

    /// Lets the object take another row, if there is one.
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
        // Its class may have looked at other rows by then, which made the record one like all others.
        if record.isPassing { record.lend(new) } else { record.object = new }
        new.pass(among: rows)
        object = new
        (unretained, self.record) = (.passUnretained(new), .passUnretained(record))
    }

    /// Lets go of the row, and finds out whether the object may stand for another one.
    private func leave(_ rows: PassingRows) {
        let isPassing = rows.passage.leave()
        if isPassing, isKnownUniquelyReferenced(&object), withObject({ $0.passOn() }) == true {
            if !isPlain() { end() }
        } else {
            letStay(isPassing, rows)
        }
    }

    /// Makes the object that of its row for good, and lets go of it.
    private func letStay(_ isPassing: Bool, _ rows: PassingRows) {
        if isPassing, let object { rows.context.records.keep(object.record) }
        object?.stay()
        drop()
    }

    /// Lets go of the object, which stands for the last row that it stood for: what a class does then may read it.
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
        let isPlain = object.map(ClassCheck.isPlain) ?? false
        isClassPlain = isPlain
        return isPlain
    }
}
