public import TandemModel
import TandemQuery

/// The computation of derived attributes from stored data.
///
/// Rows contain the derived values that their transactions wrote; this extension computes the
/// expected ones. A count depends on links. A folded text depends on another value and on the
/// Unicode tables of the program. The store is stamped with the version of the tables that folded
/// its texts. After an update to other tables, the daemon folds the texts again in transactions of
/// its own.
extension Store {
    /// Returns the expected value of a derived attribute, computed from the `source` value.
    ///
    /// A long text is returned in full, as a ``TandemModel/Value/string(_:)``. Cost: proportional
    /// to the number of members, or to the length of the text.
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

    /// Returns the values of a row with its derived attributes, for an entity of the model being
    /// installed.
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

    // MARK: Folding stamp

    /// Whether the folded texts in rows were made with this program's Unicode tables.
    public var foldingMatchesThisBuild: Bool {
        get throws(StoreError) {
            let stamp = try current.get(tables.meta, MetaKey.folding.key).map { Array($0) }
            return stamp == Array(options.folding.utf8)
        }
    }

    /// Stamps the store with this program's Unicode tables; durable after the next checkpoint.
    public func recordFolding() throws(StoreError) {
        try current.put(tables.meta, MetaKey.folding.key, Array(options.folding.utf8))
    }

    /// Removes the stamp, so that the tables used for folding count as unknown.
    func forgetFolding() throws(StoreError) {
        try current.delete(tables.meta, MetaKey.folding.key)
    }
}
