import TandemModel

/// Checks rows and their to-one references.
struct RowChecker {
    private let graph: CheckedGraph

    init(_ graph: CheckedGraph) { self.graph = graph }

    /// Returns the object of a key, or nil if the key has a wrong length.
    static func object(_ key: [UInt8]) -> ObjectReference? {
        guard key.count == 10 else { return nil }
        return key.withUnsafeBytes {
            ObjectReference(
                tag: $0.bigEndian(0, as: UInt16.self), number: $0.bigEndian(2, as: UInt64.self))
        }
    }

    /// Checks that an entry is a row of its entity; returns the row, or nil if it can't be read.
    func check(
        _ key: [UInt8], _ value: [UInt8], _ report: inout StoreReport
    ) -> (stored: StoredObject, entity: CompiledEntity)? {
        guard let object = Self.object(key) else {
            report.add(StoreFinding(.badKey, .rows, key, "the key has \(key.count) bytes, not 10"))
            return nil
        }
        guard let entity = graph.model?.entity(tagged: object.tag) else {
            let message = "the model has no entity with tag \(object.tag)"
            report.add(StoreFinding(.badRow, .rows, key, message))
            return nil
        }
        guard let stored = value.withUnsafeBytes({ EntryDecoder.stored(object, $0) }) else {
            bad(key, object, "the value has \(value.count) bytes", &report)
            return nil
        }
        guard stored.row.isValid(for: entity) else {
            bad(key, object, "the bytes are not a row of \(entity.name)", &report)
            return nil
        }
        if let version = graph.model?.version, stored.row.modelVersion != version {
            let message =
                "the row has model version \(stored.row.modelVersion), but the store's is \(version)"
            bad(key, object, message, &report)
            return nil
        }
        if stored.version == 0 || stored.version > graph.position {
            report.add(
                StoreFinding(
                    .futureRow, .rows, key, object: graph.id(object),
                    "the row was changed at \(stored.version), but the store is at \(graph.position)"
                ))
        }
        return (stored, entity)
    }

    private func bad(
        _ key: [UInt8], _ object: ObjectReference, _ message: String, _ report: inout StoreReport
    ) {
        report.add(StoreFinding(.badRow, .rows, key, object: graph.id(object), message))
    }

    // MARK: References

    /// Checks that the objects to which a row's to-one relationships refer exist and refer back.
    func checkReferences(
        of row: Row, _ object: ObjectReference, _ entity: CompiledEntity,
        _ report: inout StoreReport
    ) throws(StoreError) {
        for property in entity.properties {
            guard let relationship = property.relationship, !relationship.toMany,
                let target = row.reference(property.slot, in: entity)
            else { continue }
            guard let family = graph.model?.entity(tagged: relationship.destination),
                family.includes(target.tag), try graph.exists(target)
            else {
                report.add(
                    StoreFinding(
                        .danglingReference, .rows, StoreKey.row(object), object: graph.id(object),
                        property: property.name,
                        "the object refers to \(graph.id(target)?.description ?? "?"), which does not exist"
                    ))
                continue
            }
            let inverse = family.properties[relationship.inverseSlot]
            if relationship.inverseToMany {
                try checkMember(object, of: target, inverse, &report)
            } else {
                try checkOtherEnd(object, target, property, inverse, &report)
            }
        }
    }

    private func checkMember(
        _ member: ObjectReference, of owner: ObjectReference, _ property: CompiledProperty,
        _ report: inout StoreReport
    ) throws(StoreError) {
        guard let link = property.relationship?.linkID else { return }
        let key = StoreKey.link(link, owner.number, member.number)
        // A wrong entity in the link's value is found when the links are scanned.
        guard try graph.get(.links, key) == nil else { return }
        report.add(
            StoreFinding(
                .missingLink, .links, key, object: graph.id(owner), property: property.name,
                "\(graph.id(member)?.description ?? "?") refers to the object, but is not among its members",
                LinkChecker.repairs(ofMissing: key, to: member, property.relationship)))
    }

    private func checkOtherEnd(
        _ object: ObjectReference, _ target: ObjectReference, _ property: CompiledProperty,
        _ inverse: CompiledProperty, _ report: inout StoreReport
    ) throws(StoreError) {
        guard let entity = graph.model?.entity(tagged: target.tag), let row = try graph.row(target),
            row.reference(inverse.slot, in: entity) != object
        else { return }
        report.add(
            StoreFinding(
                .oneSidedReference, .rows, StoreKey.row(object), object: graph.id(object),
                property: property.name,
                "the object refers to \(graph.id(target)?.description ?? "?"), whose \(inverse.name) is another object"
            ))
    }
}
