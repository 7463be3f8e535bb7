import TandemModel
import TandemQuery

/// What a context holds, for evaluating predicates, sort keys and sections without asking anybody.
///
/// With ``includesEdits`` pending edits lie on top, else it is the graph as merged.
struct ContextReader: GraphReader {
    let context: ManagedObjectContext
    var includesEdits = false

    func row(of object: ObjectReference) -> RowLookup {
        guard let record = context.known(object) else { return .unknown }
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
        guard let record = context.known(object) else { return nil }
        if includesEdits { return context.members(of: record, slot).map { $0.sorted() } }
        return record.members[slot].map { $0.sorted() }
    }

    /// With edits on top, texts that were read or set here; without, none, so that whatever is merged is judged alike.
    func content(of text: TextReference) -> [UInt8]? {
        guard includesEdits else { return nil }
        if let read = context.root.blobs[text.blob] { return read }
        let edited = context.lineage.flatMap(\.edited.objects)
        let pending = edited.lazy.flatMap { $0.record.pending.values.map(\.value) }
        for case .string(let edited) in pending where edited.utf8.count == text.length {
            let content = Array(edited.utf8)
            if text.blob.stands(for: content) { return content }
        }
        return nil
    }
}
