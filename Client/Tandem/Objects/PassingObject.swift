import TandemModel

/// An object that stands for one row after the other while values are made of them.
///
/// For its row it is what any object is: the context finds it, its relationships lead to it, it can be edited. If somebody keeps it,
/// or more than its row is known afterwards, it stays the object of that row, and another one passes by.
struct PassingObject {
    /// The entity of its rows.
    let entity: CompiledEntity
    /// The object, while it stands for a row or may stand for another one.
    private(set) var object: ManagedObject?
    /// The bytes of its row, which the next one takes the place of unless somebody has them.
    private var bytes: [UInt8] = []
    /// Whether nothing but their rows tells objects of the class apart; nil until one was looked at.
    private var isClassPlain: Bool?

    init(_ entity: CompiledEntity) { self.entity = entity }

    /// Takes a row of which the context has no record; the object stands for it until ``leave(_:)``.
    ///
    /// Throws `storage` for bytes that are no row of the entity.
    mutating func take(
        _ reference: ObjectReference, version: UInt64, row: UnsafeRawBufferPointer,
        _ rows: PassingRows
    ) throws(TandemError) {
        let record = object?.record ?? ObjectRecord(reference, entity)
        record.row = nil
        bytes.removeAll(keepingCapacity: true)
        bytes.append(contentsOf: row)
        record.pass(as: reference, Row(bytes: bytes), version: version)
        guard record.row?.isValid(for: entity) == true else {
            throw ManagedObjectContext.unreadable(reference, entity)
        }
        rows.context.records.pass(record)
        guard object == nil else { return }
        let new = rows.context.object(of: record)
        new.pass(among: rows)
        object = new
    }

    /// Lets go of the row, and finds out whether the object may stand for another one.
    mutating func leave(_ rows: PassingRows) {
        let isPassing = rows.context.records.leave()
        if isPassing, isKnownUniquelyReferenced(&object), object?.canPassOn() == true {
            if isPlain() { object?.passOn() } else { object = nil }
            return
        }
        if isPassing, let object { rows.context.records.keep(object.record) }
        object?.stay()
        object = nil
    }

    private mutating func isPlain() -> Bool {
        if let isClassPlain { return isClassPlain }
        let isPlain = object.map(ClassCheck.isPlain) ?? false
        isClassPlain = isPlain
        return isPlain
    }
}
