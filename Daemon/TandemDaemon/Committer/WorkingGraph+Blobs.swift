import TandemModel
import TandemStore

/// Values that are too long for rows.
extension WorkingGraph {
    /// The value as its row will hold it; a content that is too long is kept for ``newBlobs(in:)``.
    ///
    /// Throws `validation` for a reference whose content nobody has.
    mutating func inRow(
        _ value: Value, _ object: ObjectReference, _ slot: Int, _ entity: CompiledEntity
    ) throws -> Value {
        switch value {
        case .data(let content) where content.count > BlobReference.inlineLimit:
            // The validator refuses what is too long; it isn't worth hashing.
            return content.count > limits.blobBytes ? value : .blob(keep(content))
        case .blob(let reference):
            if try blobs[reference] != nil || store.holds(reference) { return value }
            throw TandemError(
                .validation,
                problems: [
                    ValidationProblem(
                        object: model.id(of: object), property: entity.properties[slot].name,
                        message: "the store does not have this content; set the content itself")
                ])
        default: return value
        }
    }

    /// The blobs that stand in rows after the changes and that the store does not have, by hash.
    func newBlobs(in changes: [Change]) throws -> [Blob] {
        if blobs.isEmpty { return [] }
        var standing: Set<BlobReference> = []
        for change in changes {
            guard let entity = model.entity(tagged: change.object.tag) else { continue }
            standing.formUnion(change.row?.blobs(in: entity) ?? [])
        }
        return try blobs.values.filter { blob in
            try standing.contains(blob.reference) && !store.holds(blob.reference)
        }.sorted { $0.reference.hash.lexicographicallyPrecedes($1.reference.hash) }
    }
}
