import TandemModel

/// The properties that could not be loaded when they were read, and the edits that may depend on
/// those reads.
///
/// A failed read returns null, or no members. No save sends edits to the object until it is loaded.
/// When it is loaded, edits to properties whose reads had failed are dropped, and the next save
/// reports them. A property that was set without being read keeps its edit.
struct FailedReads {
    private var slots: [ObjectNumber: PropertyMask] = [:]
    /// The loaded values that the types of their properties can't represent.
    private var unknown: [ObjectNumber: SlotValues] = [:]
    /// Edits to drop as soon as no merge is in progress.
    private var doubtful: [(record: ObjectRecord, slots: PropertyMask)] = []
    private var dropped: [ValidationProblem] = []
    /// The error of the last failed read.
    private var cause: TandemError?

    /// Whether the next save has to report dropped edits.
    var hasDropped: Bool { !dropped.isEmpty }

    /// Returns the properties of an object whose reads failed.
    func slots(of record: ObjectRecord) -> PropertyMask {
        slots[record.reference.number] ?? PropertyMask()
    }

    /// Records that the read of a property failed.
    mutating func markFailed(_ slot: Int, of record: ObjectRecord, _ cause: TandemError?) {
        slots[record.reference.number, default: PropertyMask()].insert(slot)
        record.markUnreadable()
        if let cause { self.cause = cause }
    }

    /// Records a value that the type of its property can't represent.
    mutating func markFailed(
        unknown value: PropertyValue, _ slot: Int, of record: ObjectRecord, _ cause: TandemError
    ) {
        unknown[record.reference.number, default: SlotValues()][slot] = value
        markFailed(slot, of: record, cause)
    }

    /// Returns the value of a property if its type can't represent it, otherwise nil.
    func unknownValue(_ slot: Int, of record: ObjectRecord) -> PropertyValue? {
        unknown[record.reference.number]?[slot]
    }

    /// Forgets the unrepresentable values of an object whose edits are dropped.
    mutating func forgetUnknown(of record: ObjectRecord) {
        guard let values = unknown.removeValue(forKey: record.reference.number) else { return }
        drop(values.mask, of: record)
    }

    private mutating func drop(_ readable: PropertyMask, of record: ObjectRecord) {
        let rest = slots(of: record).subtracting(readable)
        slots[record.reference.number] = rest.isEmpty ? nil : rest
        record.markUnreadable(!rest.isEmpty)
    }

    /// Removes the failed reads of properties that are now `readable`.
    ///
    /// Edits to these properties become doubtful.
    mutating func resolve(_ record: ObjectRecord, _ readable: PropertyMask) {
        for slot in readable where unknownValue(slot, of: record) != nil {
            unknown[record.reference.number]?[slot] = nil
        }
        drop(readable, of: record)
        let edits = record.pending.mask.intersection(readable)
        if !edits.isEmpty { doubtful.append((record, edits)) }
    }

    /// Removes and returns the edits to drop.
    mutating func drainDoubtful() -> [(record: ObjectRecord, slots: PropertyMask)] {
        defer { doubtful = [] }
        return doubtful
    }

    /// Records that the edits to an object's property were dropped.
    mutating func markDropped(_ slot: Int, of record: ObjectRecord) {
        dropped.append(problem(slot, of: record))
    }

    /// Forgets the dropped edits, after a rollback.
    mutating func forgetDropped() { dropped = [] }

    /// Moves the failed reads of an object to the slots of another model.
    mutating func move(
        _ old: ObjectRecord, to record: ObjectRecord, _ translation: ModelTranslation
    ) {
        guard let before = slots.removeValue(forKey: old.reference.number) else { return }
        unknown[old.reference.number] = nil
        for slot in before {
            let property = old.entity.properties[slot]
            guard let same = translation.property(property, in: record.entity) else { continue }
            markFailed(same.slot, of: record, nil)
        }
    }

    /// Throws `unreadable` if one of these objects has edits and a failed read.
    func check(_ records: some Sequence<ObjectRecord>) throws(TandemError) {
        let problems = records.filter { $0.isUnreadable && isEdited($0) }.flatMap { record in
            slots(of: record).map { problem($0, of: record) }
        }
        guard !problems.isEmpty else { return }
        throw error(
            problems,
            "edits may depend on this value, so nothing was saved; refresh the object or roll back")
    }

    /// Throws `unreadable` if edits were dropped; reports them only once.
    mutating func checkDropped() throws(TandemError) {
        guard hasDropped else { return }
        defer { dropped = [] }
        throw error(
            dropped,
            "later edits were dropped and nothing was saved; read the value, set it again and save"
        )
    }

    /// Returns whether an object has edits other than mirrored edits to to-many relationships that
    /// were never read.
    private func isEdited(_ record: ObjectRecord) -> Bool {
        let edits = record.pending
        if edits.kind != .none || !edits.values.isEmpty { return true }
        let failed = slots(of: record)
        return edits.mask.contains { slot in
            failed.contains(slot)
                || record.entity.properties[slot].relationship?.inverseToMany == true
        }
    }

    private func problem(_ slot: Int, of record: ObjectRecord) -> ValidationProblem {
        ValidationProblem(
            object: record.id, property: record.entity.properties[slot].name,
            message: "the value could not be read")
    }

    private func error(_ problems: [ValidationProblem], _ advice: String) -> TandemError {
        let names = problems.map { "\($0.object).\($0.property ?? "")" }.sorted()
        let reason = cause.map { " (\($0))" } ?? ""
        var error = TandemError(
            .unreadable,
            "\(names.joined(separator: ", ")) could not be read\(reason); \(advice)")
        error.problems = problems
        return error
    }
}
