package import TandemModel

/// A request for the rows of known objects, and for the members of to-many relationships.
package struct Read: WireCodable {
    /// The objects whose rows are requested.
    package var objects: [ObjectReference]
    /// The to-many relationships whose members are requested.
    package var members: [MemberRequest]
    /// The version of the model to which the slots of `members` belong; ignored without members.
    ///
    /// In another model, the slots would refer to other relationships, so the daemon answers
    /// `schemaMismatch`.
    package var modelVersion: UInt16
    /// The entities added to the session's interests at or below the answer's position.
    package var interests: [EntityTag]
    /// The position at which to read; 0 means the journal's tail.
    package var at: UInt64
    /// The number of the pin that keeps the position readable; 0 for none.
    ///
    /// After the pin has ended, the daemon answers `historyExpired`, even if the journal still has
    /// the position.
    package var lease: UInt32
    /// Whether the rows of the members are returned too, without duplicates.
    package var memberRows: Bool

    /// Creates a read with the given content.
    package init(
        objects: [ObjectReference] = [], members: [MemberRequest] = [],
        modelVersion: UInt16 = 0, interests: [EntityTag] = [], at: UInt64 = 0,
        lease: UInt32 = 0, memberRows: Bool = false
    ) {
        self.objects = objects
        self.members = members
        self.modelVersion = modelVersion
        self.interests = interests
        self.at = at
        self.lease = lease
        self.memberRows = memberRows
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.references(objects)
        writer.list(members)
        writer.uint16(modelVersion)
        writer.tags(interests)
        writer.uint64(at)
        writer.uint32(lease)
        writer.bool(memberRows)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        objects = try reader.references()
        members = try reader.list(of: MemberRequest.self, itemBytes: 11)
        modelVersion = try reader.uint16()
        interests = try reader.tags()
        at = try reader.uint64()
        lease = try reader.uint32()
        memberRows = try reader.bool()
    }
}

/// A to-many relationship of one object.
package struct MemberRequest: WireCodable {
    /// The object.
    package var owner: ObjectReference
    /// The slot of the relationship in the owner's entity.
    package var slot: Int

    /// Creates a request for the members of the relationship in `slot` of `owner`.
    package init(owner: ObjectReference, slot: Int) {
        self.owner = owner
        self.slot = slot
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.reference(owner)
        writer.count(slot)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        owner = try reader.reference()
        slot = try reader.slot()
    }
}

/// The answer to ``Read``.
package struct ReadAnswer: WireCodable {
    /// The position at which everything was read.
    package var position: UInt64
    /// The objects that exist, followed by the members whose rows were requested.
    package var objects: [StoredObject]
    /// The requested objects that don't exist.
    package var missing: [ObjectReference]
    /// The requested members.
    package var members: [MemberList]

    /// Creates an answer with the given content.
    package init(
        position: UInt64, objects: [StoredObject] = [], missing: [ObjectReference] = [],
        members: [MemberList] = []
    ) {
        self.position = position
        self.objects = objects
        self.missing = missing
        self.members = members
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.uint64(position)
        writer.list(objects)
        writer.references(missing)
        writer.list(members)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        position = try reader.uint64()
        objects = try reader.list(of: StoredObject.self, itemBytes: StoredObject.minimumBytes)
        missing = try reader.references()
        members = try reader.list(of: MemberList.self, itemBytes: 12)
    }
}

/// The members of a to-many relationship of one object.
package struct MemberList: WireCodable {
    /// The object.
    package var owner: ObjectReference
    /// The slot of the relationship in the owner's entity.
    package var slot: Int
    /// The members: ordered by number, or by rank if the relationship is ordered.
    package var members: [ObjectReference]
    /// The rank of each member; nil if the relationship is unordered.
    package var ranks: [Rank]?

    /// Creates the list of members of the relationship in `slot` of `owner`.
    package init(
        owner: ObjectReference, slot: Int, members: [ObjectReference], ranks: [Rank]? = nil
    ) {
        precondition(ranks.map { $0.count == members.count } ?? true, "Each member has a rank.")
        self.owner = owner
        self.slot = slot
        self.members = members
        self.ranks = ranks
    }

    /// Appends the binary form; ``PropertyMask/capacity`` is added to the slot if ranks follow.
    package func encode(into writer: inout ByteWriter) {
        writer.reference(owner)
        writer.count(ranks == nil ? slot : slot + PropertyMask.capacity)
        writer.references(members)
        for rank in ranks ?? [] { writer.rank(rank) }
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        owner = try reader.reference()
        let start = reader.offset
        let slot = try reader.varint()
        guard slot < UInt64(2 * PropertyMask.capacity) else {
            throw CodingError(expected: "the slot of a relationship", offset: start)
        }
        self.slot = Int(slot) % PropertyMask.capacity
        members = try reader.references()
        guard Int(slot) >= PropertyMask.capacity else { return }
        var ranks: [Rank] = []
        for _ in members { ranks.append(try reader.rank()) }
        self.ranks = ranks
    }
}
