import TandemModel

/// Checks of rows, and of everything that follows from a row.
extension StoreChecker {
    func checkRow(_ key: [UInt8], _ value: [UInt8]) throws(StoreError) {
        guard key.count == 10 else {
            return find(StoreFinding(.badKey, .rows, key, "the key has \(key.count) bytes, not 10"))
        }
        let object = ObjectReference(
            tag: key.withUnsafeBytes { $0.bigEndian(0, as: UInt16.self) },
            number: key.withUnsafeBytes { $0.bigEndian(2, as: UInt64.self) })
        highestNumber = max(highestNumber, object.number)
        guard let entity = model?.entity(tagged: object.tag) else {
            let message = "the model has no entity with tag \(object.tag)"
            return find(StoreFinding(.badRow, .rows, key, message))
        }
        guard let stored = value.withUnsafeBytes({ EntryDecoder.stored(object, $0) }) else {
            return bad(key, object, "the value has \(value.count) bytes")
        }
        guard stored.row.isValid(for: entity) else {
            return bad(key, object, "the bytes are not a row of \(entity.name)")
        }
        if let version = model?.version, stored.row.modelVersion != version {
            return bad(
                key, object,
                "the row has model version \(stored.row.modelVersion), but the store's is \(version)"
            )
        }
        if stored.version == 0 || stored.version > report.position {
            find(
                StoreFinding(
                    .futureRow, .rows, key, object: id(object),
                    "the row was changed at \(stored.version), but the store is at \(report.position)"
                ))
        }
        try checkNumber(of: object)
        try checkReferences(stored.row, object, entity)
        try checkIndexes(stored.row, object, entity)
        try checkDerived(stored, entity)
        for blob in stored.row.blobs(in: entity) { blobCounts[blob, default: 0] += 1 }
    }

    private func bad(_ key: [UInt8], _ object: ObjectReference, _ message: String) {
        find(StoreFinding(.badRow, .rows, key, object: id(object), message))
    }

    // MARK: Numbers

    private func checkNumber(of object: ObjectReference) throws(StoreError) {
        let key = StoreKey.number(object.number)
        let noted = try get(.numbers, key)
        guard noted != StoreKey.tag(object.tag) else { return }
        let message =
            noted == nil
            ? "the number is not recorded as used" : "the number is recorded for another entity"
        find(
            StoreFinding(
                .unnotedNumber, .numbers, key, object: id(object), message,
                [.put(.numbers, key: key, value: StoreKey.tag(object.tag))]))
    }

    /// Checks a used number, which need not have a row, because numbers are kept after a deletion.
    func checkNumber(_ key: [UInt8], _ value: [UInt8]) throws(StoreError) {
        guard key.count == 8 else {
            let message = "the key has \(key.count) bytes, not 8"
            return find(
                StoreFinding(.badKey, .numbers, key, message, [.delete(.numbers, key: key)]))
        }
        highestNumber = max(highestNumber, key.withUnsafeBytes { $0.bigEndian(0, as: UInt64.self) })
        guard value.count != 2 else { return }
        // For a deleted object, it only matters that the number was used.
        var tag: EntityTag = 0
        let number = key.withUnsafeBytes { $0.bigEndian(0, as: UInt64.self) }
        for entity in model?.entities ?? [] {
            if try exists(ObjectReference(tag: entity.tag, number: number)) { tag = entity.tag }
        }
        find(
            StoreFinding(
                .badValue, .numbers, key, "the value has \(value.count) bytes, not 2",
                [.put(.numbers, key: key, value: StoreKey.tag(tag))]))
    }

    func checkNumberMark() {
        guard highestNumber >= store.nextNumber else { return }
        let message = "the next number is \(store.nextNumber), but \(highestNumber) is in use"
        let next = highestNumber == .max ? highestNumber : highestNumber + 1
        find(
            StoreFinding(
                .lowNumberMark, .meta, MetaKey.leases.key, message, [.raiseNumbers(to: next)]))
    }

    // MARK: References

    private func checkReferences(
        _ row: Row, _ object: ObjectReference, _ entity: CompiledEntity
    ) throws(StoreError) {
        for property in entity.properties {
            guard let relationship = property.relationship, !relationship.toMany,
                let target = row.reference(property.slot, in: entity)
            else { continue }
            guard let family = model?.entity(tagged: relationship.destination),
                family.includes(target.tag), try exists(target)
            else {
                find(
                    StoreFinding(
                        .danglingReference, .rows, StoreKey.row(object), object: id(object),
                        property: property.name,
                        "the object refers to \(id(target)?.description ?? "?"), which does not exist"
                    ))
                continue
            }
            let inverse = family.properties[relationship.inverseSlot]
            if relationship.inverseToMany {
                try checkMember(object, of: target, inverse)
            } else {
                try checkOtherEnd(object, target, property, inverse)
            }
        }
    }

    private func checkMember(
        _ member: ObjectReference, of owner: ObjectReference, _ property: CompiledProperty
    ) throws(StoreError) {
        guard let link = property.relationship?.linkID else { return }
        let key = StoreKey.link(link, owner.number, member.number)
        // A wrong entity in the value is found when the links are scanned.
        guard try get(.links, key) == nil else { return }
        find(
            StoreFinding(
                .missingLink, .links, key, object: id(owner), property: property.name,
                "\(id(member)?.description ?? "?") refers to the object, but is not among its members",
                repairs(ofMissing: key, to: member, property.relationship)))
    }

    private func checkOtherEnd(
        _ object: ObjectReference, _ target: ObjectReference, _ property: CompiledProperty,
        _ inverse: CompiledProperty
    ) throws(StoreError) {
        guard let entity = model?.entity(tagged: target.tag), let row = try row(target),
            row.reference(inverse.slot, in: entity) != object
        else { return }
        find(
            StoreFinding(
                .oneSidedReference, .rows, StoreKey.row(object), object: id(object),
                property: property.name,
                "the object refers to \(id(target)?.description ?? "?"), whose \(inverse.name) is another object"
            ))
    }
}
