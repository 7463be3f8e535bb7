import TandemModel

/// Checks that both ends of a link exist and refer to each other.
extension StoreChecker {
    func checkLink(_ key: [UInt8], _ value: [UInt8]) throws(StoreError) {
        guard key.count == 18, value.count >= 2 else {
            return stray(.badKey, key, nil, "the key is not a link")
        }
        let parts = key.withUnsafeBytes {
            (
                link: $0.bigEndian(0, as: UInt16.self), owner: $0.bigEndian(2, as: UInt64.self),
                member: $0.bigEndian(10, as: UInt64.self)
            )
        }
        guard let (owners, property) = relationships[parts.link],
            let relationship = property.relationship
        else { return stray(.strayLink, key, nil, "the model has no such relationship") }
        guard let owner = try object(parts.owner, in: owners.tag) else {
            return stray(
                .strayLink, key, nil, "object \(parts.owner) is not of the entity \(owners.name)")
        }
        guard let member = try object(parts.member, in: relationship.destination) else {
            let message = "the member, object \(parts.member), does not exist"
            return stray(.strayLink, key, (owner, property), message)
        }
        let isMutual =
            relationship.inverseToMany
            ? try checkBack(owner, member, relationship)
            : try refers(member, to: owner, relationship)
        guard isMutual else {
            let message = "\(id(member)?.description ?? "?") does not refer to the object"
            return stray(.strayLink, key, (owner, property), message)
        }
        checkRank(key, value, (owner, property), relationship)
        guard value.prefix(2) != StoreKey.tag(member.tag)[...] else { return }
        find(
            StoreFinding(
                .wrongLinkEntity, .links, key, object: id(owner), property: property.name,
                "\(id(member)?.description ?? "?") is stored under another entity",
                [.put(.links, key: key, value: StoreKey.tag(member.tag) + value[2...])]))
    }

    /// Checks that a link has a rank if and only if its relationship is ordered.
    private func checkRank(
        _ key: [UInt8], _ value: [UInt8],
        _ place: (owner: ObjectReference, property: CompiledProperty),
        _ relationship: CompiledRelationship
    ) {
        let rank = value[2...]
        guard relationship.isOrdered ? Rank(rank) == nil : !rank.isEmpty else { return }
        let message =
            relationship.isOrdered
            ? "a member has no readable rank"
            : "a member of an unordered relationship has a rank"
        find(
            StoreFinding(
                .badValue, .links, key, object: id(place.owner), property: place.property.name,
                message,
                relationship.isOrdered
                    ? [] : [.put(.links, key: key, value: Array(value[..<2]))]))
    }

    /// Whether the to-one reference of a member refers to its owner.
    private func refers(
        _ member: ObjectReference, to owner: ObjectReference, _ relationship: CompiledRelationship
    ) throws(StoreError) -> Bool {
        guard let entity = model?.entity(tagged: member.tag), let row = try row(member) else {
            return false
        }
        return row.reference(relationship.inverseSlot, in: entity) == owner
    }

    /// Checks the opposite link of a many-to-many link; the repair adds it if it is missing.
    private func checkBack(
        _ owner: ObjectReference, _ member: ObjectReference, _ relationship: CompiledRelationship
    ) throws(StoreError) -> Bool {
        let inverse = model?.entity(tagged: relationship.destination)?
            .properties[relationship.inverseSlot]
        guard let inverse, let link = inverse.relationship?.linkID else { return false }
        let key = StoreKey.link(link, member.number, owner.number)
        guard try get(.links, key) == nil else { return true }
        find(
            StoreFinding(
                .missingLink, .links, key, object: id(member), property: inverse.name,
                "\(id(owner)?.description ?? "?") has the object as a member, but the object has no such owner",
                repairs(ofMissing: key, to: owner, inverse.relationship)))
        return true
    }

    /// Returns the repair of a missing link, or none if its rank is only in the journal.
    func repairs(
        ofMissing key: [UInt8], to member: ObjectReference, _ relationship: CompiledRelationship?
    ) -> [StoreFinding.Repair] {
        relationship?.isOrdered == true
            ? [] : [.put(.links, key: key, value: StoreKey.tag(member.tag))]
    }

    private func stray(
        _ kind: StoreFinding.Kind, _ key: [UInt8],
        _ place: (owner: ObjectReference, property: CompiledProperty)?, _ message: String
    ) {
        find(
            StoreFinding(
                kind, .links, key, object: place.flatMap { id($0.owner) },
                property: place?.property.name, message, [.delete(.links, key: key)]))
    }
}
