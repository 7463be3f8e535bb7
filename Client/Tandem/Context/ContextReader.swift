import TandemModel
import TandemQuery

/// Reads the loaded data of a context to evaluate predicates, sort keys and sections without
/// requests.
///
/// If ``includesEdits`` is true, the reader includes pending edits; otherwise it reads the merged
/// graph.
struct ContextReader: GraphReader {
    let context: ManagedObjectContext
    var includesEdits = false

    func row(of object: ObjectReference) -> RowLookup {
        guard let record = context.graph.known(object) else { return .unknown }
        if record.isGone || (includesEdits && record.isDeleted) { return .missing }
        if includesEdits {
            let version = context.session?.model.version ?? 0
            return record.currentRow(modelVersion: version).map { .row($0) } ?? .unknown
        }
        if let row = record.row { return .row(row) }
        return record.isInserted ? .missing : .unknown
    }

    func members(
        of object: ObjectReference, _ relationship: CompiledRelationship, slot: Int
    ) -> [ObjectReference]? {
        guard let record = context.graph.known(object) else { return nil }
        if includesEdits { return context.graph.members(of: record, slot).map { $0.sorted() } }
        return record.members[slot].map { $0.sorted() }
    }

    /// Returns the content of a long text that this context or an ancestor has read or set.
    ///
    /// Returns nil if the reader excludes edits, so that merged data is always evaluated in the
    /// same way.
    func content(of text: TextReference) -> [UInt8]? {
        guard includesEdits else { return nil }
        if let read = context.loader.cachedContent(of: text.blob) { return read }
        let edited = context.lineage.flatMap(\.editor.editedObjects)
        let pending = edited.lazy.flatMap { $0.record.pending.values.map(\.value) }
        for case .string(let edited) in pending where edited.utf8.count == text.length {
            let content = Array(edited.utf8)
            if text.blob.isReference(to: content) { return content }
        }
        return nil
    }
}
