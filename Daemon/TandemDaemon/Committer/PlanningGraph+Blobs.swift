import TandemModel
import TandemStore

/// Handling of values too long for rows.
extension PlanningGraph {
    /// Returns the value as it is stored in a row; long content is kept for ``newBlobs(in:)``.
    ///
    /// Throws `validation` for a reference whose content is neither in the request nor in the
    /// store.
    func inRow(
        _ value: PropertyValue, _ object: ObjectReference, _ slot: Int, _ entity: CompiledEntity
    ) throws -> PropertyValue {
        switch value {
        case .data(let content) where content.count > BlobReference.inlineLimit:
            // The validator rejects values over the limit, so hashing them would be wasted.
            return content.count > limits.blobBytes ? value : .blob(keep(content).reference)
        case .string(let text) where text.utf8.count > BlobReference.inlineLimit:
            return text.utf8.count > limits.blobBytes
                ? value : .longText(TextReference(keep(Array(text.utf8))))
        case .blob(let reference):
            if try blobs[reference] != nil || store.hasMatchingContent(of: reference) {
                return value
            }
            throw missingContent(object, slot, entity)
        case .longText(let reference):
            if try holds(reference) { return value }
            throw missingContent(object, slot, entity)
        default: return value
        }
    }

    private func missingContent(
        _ object: ObjectReference, _ slot: Int, _ entity: CompiledEntity
    ) -> TandemError {
        TandemError(
            .validation,
            problems: [
                ValidationProblem(
                    object: model.id(of: object), property: entity.properties[slot].name,
                    message: "the store no longer has this content; set the content itself")
            ])
    }

    /// Whether a referenced long text exists and is valid.
    ///
    /// A blob may have any bytes, and a reference may claim anything, so the content is checked
    /// once per text and save.
    private func holds(_ text: TextReference) throws -> Bool {
        if texts.contains(text) { return true }
        guard let content = try content(of: text.blob), text.matches(content),
            (try? UTF8Span(validating: content.span)) != nil
        else { return false }
        texts.insert(text)
        return true
    }

    /// Returns the content of a blob from the request or the store.
    func content(of blob: BlobReference) throws -> [UInt8]? {
        if let brought = blobs[blob] { return brought.content }
        return try store.content(of: blob)
    }

    /// Returns the blobs that rows refer to after the changes and that the store lacks, sorted by
    /// hash.
    func newBlobs(in changes: [Change]) throws -> [Blob] {
        if blobs.isEmpty { return [] }
        var referenced: Set<BlobReference> = []
        for change in changes {
            guard let entity = model.entity(tagged: change.object.tag) else { continue }
            referenced.formUnion(change.row?.blobs(in: entity) ?? [])
        }
        return try blobs.values.filter { blob in
            try referenced.contains(blob.reference) && !store.hasContent(of: blob.reference)
        }.sorted { $0.reference.hash.lexicographicallyPrecedes($1.reference.hash) }
    }
}
