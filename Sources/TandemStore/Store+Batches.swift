import TandemModel

/// The transactions of a batch, by the save ids that they were remembered under.
extension Store {
    /// A save of a batch.
    public struct BatchSave: Hashable, Sendable {
        /// Its save id.
        public var id: [UInt8]
        /// Its position; without a transaction the journal's end at that time.
        public var position: UInt64
    }

    /// The saves of a user whose ids are those bytes and `count` more, by id.
    ///
    /// Cost: all remembered ids that begin with them.
    public func saves(
        by uid: UInt32, idPrefix: [UInt8], andBytes count: Int
    ) throws(StoreError) -> [BatchSave] {
        var found: [BatchSave] = []
        let prefix = StoreKey.save(uid, idPrefix)
        try current.scan(tables.saves, prefix: prefix) { (rest, value) throws(StoreError) -> Bool in
            guard rest.count == count else { return true }
            guard value.count >= 8 else {
                throw damaged(.saves, 0, "a save of \(value.count) bytes")
            }
            let position = UInt64(littleEndian: value.loadUnaligned(as: UInt64.self))
            found.append(BatchSave(id: idPrefix + rest, position: position))
            return true
        }
        return found
    }
}
