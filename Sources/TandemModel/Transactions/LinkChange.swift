/// An addition, removal or, in a save request, reordering of a member of a to-many relationship.
@usableFromInline package struct LinkChange: Hashable, Sendable {
    /// The effect on the member.
    @usableFromInline package enum Action: UInt8, Hashable, Sendable {
        /// The member is removed.
        case remove
        /// The member is added.
        case add
        /// The member gets a new rank if it is still a member; only in save requests.
        ///
        /// Moving a member that another save has removed has no effect. In a change set, a move is
        /// a removal and an addition.
        case place
    }

    /// The slot of the relationship in the owner's entity.
    @usableFromInline package var slot: Int
    /// The member.
    @usableFromInline package var target: ObjectReference
    /// The effect on the member.
    @usableFromInline package var action: Action
    /// The rank in an ordered relationship; nil in an unordered one.
    ///
    /// For a removed member this is the old rank, otherwise the new one. In a save request, a
    /// member without a rank is appended.
    package var rank: Rank?

    /// Creates a change of the member `target`.
    package init(slot: Int, target: ObjectReference, _ action: Action, rank: Rank? = nil) {
        self.slot = slot
        self.target = target
        self.action = action
        self.rank = rank
    }

    /// Creates the addition or removal of `target`.
    package init(slot: Int, target: ObjectReference, isAdded: Bool, rank: Rank? = nil) {
        self.init(slot: slot, target: target, isAdded ? .add : .remove, rank: rank)
    }

    /// Whether the member was added.
    @usableFromInline package var isAdded: Bool { action == .add }

    /// Returns whether `a` sorts before `b` in a change: by slot, then member, removals before
    /// additions.
    @usableFromInline package static func isBefore(_ a: LinkChange, _ b: LinkChange) -> Bool {
        (a.slot, a.target.number, a.action.rawValue) < (b.slot, b.target.number, b.action.rawValue)
    }

    /// The change that undoes this one.
    @usableFromInline package var reversed: LinkChange {
        LinkChange(slot: slot, target: target, isAdded: !isAdded, rank: rank)
    }
}

extension LinkChange {
    /// The minimum size of an encoded link change in bytes.
    package static let minimumBytes = 12
    /// The bit next to the action that indicates that a rank follows.
    private static let hasRank: UInt8 = 4

    /// Appends the binary form: slot, action, tag, number, and the rank if there is one.
    package func encode(into writer: inout ByteWriter) {
        writer.count(slot)
        writer.uint8(action.rawValue | (rank == nil ? 0 : Self.hasRank))
        writer.uint16(target.tag)
        writer.uint64(target.number)
        if let rank { writer.rank(rank) }
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        let slot = try Change.slot(from: &reader)
        let start = reader.offset
        let code = try reader.uint8()
        guard let action = Action(rawValue: code & ~Self.hasRank) else {
            throw CodingError(expected: "a kind of link change", offset: start)
        }
        let tag = try reader.uint16()
        let target = ObjectReference(tag: tag, number: try reader.uint64())
        let rank = code & Self.hasRank == 0 ? nil : try reader.rank()
        self.init(slot: slot, target: target, action, rank: rank)
    }

    /// Returns whether a change set may contain this change of a property.
    ///
    /// A rank is required if the relationship is ordered, and not allowed otherwise.
    func isValid(for property: CompiledProperty) -> Bool {
        guard property.isToMany, action != .place, let relationship = property.relationship else {
            return false
        }
        return (rank != nil) == relationship.isOrdered
    }
}
