import TandemModel

/// Checks that both ends of a link exist and refer to each other.
struct LinkChecker {
    private let graph: CheckedGraph

    init(_ graph: CheckedGraph) { self.graph = graph }

    /// Checks a link.
    func check(
        _ key: [UInt8], _ value: [UInt8], _ report: inout StoreReport
    ) throws(StoreError) {
        guard key.count == 18, value.count >= 2 else {
            return reportStray(.badKey, key, nil, "the key is not a link", &report)
        }
        let parts = key.withUnsafeBytes {
            (
                link: $0.bigEndian(0, as: UInt16.self), owner: $0.bigEndian(2, as: UInt64.self),
                member: $0.bigEndian(10, as: UInt64.self)
            )
        }
        guard let (owners, property) = graph.relationships[parts.link],
            let relationship = property.relationship
        else {
            return reportStray(.strayLink, key, nil, "the model has no such relationship", &report)
        }
        guard let owner = try graph.object(parts.owner, in: owners.tag) else {
            return reportStray(
                .strayLink, key, nil, "object \(parts.owner) is not of the entity \(owners.name)",
                &report)
        }
        guard let member = try graph.object(parts.member, in: relationship.destination) else {
            let message = "the member, object \(parts.member), does not exist"
            return reportStray(.strayLink, key, (owner, property), message, &report)
        }
        let isMutual =
            relationship.inverseToMany
            ? try checkBack(owner, member, relationship, &report)
            : try refers(member, to: owner, relationship)
        guard isMutual else {
            let message = "\(graph.id(member)?.description ?? "?") does not refer to the object"
            return reportStray(.strayLink, key, (owner, property), message, &report)
        }
        checkRank(key, value, (owner, property), relationship, &report)
        guard value.prefix(2) != StoreKey.tag(member.tag)[...] else { return }
        report.add(
            StoreFinding(
                .wrongLinkEntity, .links, key, object: graph.id(owner), property: property.name,
                "\(graph.id(member)?.description ?? "?") is stored under another entity",
                [.put(.links, key: key, value: StoreKey.tag(member.tag) + value[2...])]))
    }

    /// Checks that a link has a rank if and only if its relationship is ordered.
    private func checkRank(
        _ key: [UInt8], _ value: [UInt8],
        _ place: (owner: ObjectReference, property: CompiledProperty),
        _ relationship: CompiledRelationship, _ report: inout StoreReport
    ) {
        let rank = value[2...]
        guard relationship.isOrdered ? Rank(rank) == nil : !rank.isEmpty else { return }
        let message =
            relationship.isOrdered
            ? "a member has no readable rank"
            : "a member of an unordered relationship has a rank"
        report.add(
            StoreFinding(
                .badValue, .links, key, object: graph.id(place.owner),
                property: place.property.name,
                message,
                relationship.isOrdered
                    ? [] : [.put(.links, key: key, value: Array(value[..<2]))]))
    }

    /// Returns whether the to-one reference of a member refers to its owner.
    private func refers(
        _ member: ObjectReference, to owner: ObjectReference, _ relationship: CompiledRelationship
    ) throws(StoreError) -> Bool {
        guard let entity = graph.model?.entity(tagged: member.tag), let row = try graph.row(member)
        else {
            return false
        }
        return row.reference(relationship.inverseSlot, in: entity) == owner
    }

    /// Checks the opposite link of a many-to-many link; a missing one is added by the repair.
    private func checkBack(
        _ owner: ObjectReference, _ member: ObjectReference, _ relationship: CompiledRelationship,
        _ report: inout StoreReport
    ) throws(StoreError) -> Bool {
        let inverse = graph.model?.entity(tagged: relationship.destination)?
            .properties[relationship.inverseSlot]
        guard let inverse, let link = inverse.relationship?.linkID else { return false }
        let key = StoreKey.link(link, member.number, owner.number)
        guard try graph.get(.links, key) == nil else { return true }
        report.add(
            StoreFinding(
                .missingLink, .links, key, object: graph.id(member), property: inverse.name,
                "\(graph.id(owner)?.description ?? "?") has the object as a member, but the object has no such owner",
                Self.repairs(ofMissing: key, to: owner, inverse.relationship)))
        return true
    }

    /// Returns the repair of a missing link, or none if its rank is only in the journal.
    static func repairs(
        ofMissing key: [UInt8], to member: ObjectReference, _ relationship: CompiledRelationship?
    ) -> [StoreFinding.Repair] {
        relationship?.isOrdered == true
            ? [] : [.put(.links, key: key, value: StoreKey.tag(member.tag))]
    }

    private func reportStray(
        _ kind: StoreFinding.Kind, _ key: [UInt8],
        _ place: (owner: ObjectReference, property: CompiledProperty)?, _ message: String,
        _ report: inout StoreReport
    ) {
        report.add(
            StoreFinding(
                kind, .links, key, object: place.flatMap { graph.id($0.owner) },
                property: place?.property.name, message, [.delete(.links, key: key)]))
    }
}
