public import TandemModel
import TandemQuery

/// Derived attributes: what they are by what is stored.
///
/// They stand in the rows, as the transactions that wrote them said; here is what they have to be. A count follows from links, a
/// folded text from another value and from the tables of Unicode, which come with the program. The store is stamped with the tables
/// by which its texts were folded: after an update of the program the daemon makes them anew, by transactions of its own.
extension Store {
    /// What a derived attribute of a stored object has to be; `source` is the value that it follows from.
    ///
    /// A long text comes whole, as ``TandemModel/Value/string(_:)``. Cost: the members, or the length of the text.
    public func derived(
        _ derivation: CompiledDerivation, of number: ObjectNumber, _ entity: CompiledEntity,
        from source: Value
    ) throws(StoreError) -> Value {
        switch derivation.kind {
        case .count:
            guard let relationship = entity.properties[derivation.source].relationship else {
                return .int(0)
            }
            return .int(Int64(try memberCount(of: number, relationship, atMost: .max)))
        case .folded:
            return try CompiledDerivation.folded(source) { (blob) throws(StoreError) in
                try content(of: blob)
            }
        }
    }

    /// The values of a row with what follows from them, of an entity under the model that is being installed.
    func deriving(
        _ derivations: [CompiledDerivation], _ values: [Value], of stored: Stored,
        _ entity: CompiledEntity, at position: UInt64, _ open: LMDBTransaction
    ) throws(StoreError) -> [Value] {
        var values = values
        for derivation in derivations {
            let value = try derived(
                derivation, of: stored.object.number, entity, from: values[derivation.source])
            if case .string(let text) = value, value.inRow.outside != nil {
                try add([Blob(Array(text.utf8))], at: position, open)
            }
            values[derivation.slot] = value.inRow
        }
        return values
    }

    // MARK: Other tables

    /// Whether folded texts in rows are those of this program's tables of Unicode.
    public var isFoldedHere: Bool {
        get throws(StoreError) {
            let stamp = try current.get(tables.meta, MetaKey.folding.key).map { Array($0) }
            return stamp == Array(options.folding.utf8)
        }
    }

    /// Notes that they are, with the next checkpoint.
    public func noteFolding() throws(StoreError) {
        try current.put(tables.meta, MetaKey.folding.key, Array(options.folding.utf8))
    }

    /// Notes that nobody knows by what they were folded.
    func forgetFolding() throws(StoreError) {
        try current.delete(tables.meta, MetaKey.folding.key)
    }
}
