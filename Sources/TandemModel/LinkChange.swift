/// A member that a to-many relationship gained or lost, or, in what is to be saved, one that gets another place in it.
public struct LinkChange: Hashable, Sendable {
    /// What becomes of a member.
    public enum Action: UInt8, Hashable, Sendable {
        /// It goes.
        case remove
        /// It comes.
        case add
        /// It gets a place in the order, if it is a member; only in what is to be saved.
        ///
        /// Whoever moves a member does not bring one back that others removed. Change sets say the same by a removal and an addition.
        case place
    }

    /// The slot of the relationship in the owner's entity.
    public var slot: Int
    /// The member.
    public var target: ObjectReference
    /// What becomes of it.
    public var action: Action
    /// Its place in an ordered relationship: the new one, of a member that goes the one it had; nil in a relationship without order.
    ///
    /// A member that is to be saved without one goes behind all others.
    public var rank: Rank?

    /// Something that becomes of `target`.
    public init(slot: Int, target: ObjectReference, _ action: Action, rank: Rank? = nil) {
        self.slot = slot
        self.target = target
        self.action = action
        self.rank = rank
    }

    /// A gain or loss of `target`.
    public init(slot: Int, target: ObjectReference, isAdded: Bool, rank: Rank? = nil) {
        self.init(slot: slot, target: target, isAdded ? .add : .remove, rank: rank)
    }

    /// Whether the member came.
    public var isAdded: Bool { action == .add }

    /// The order in which a change names them: by slot and member, and what goes before what comes.
    public static func isBefore(_ a: LinkChange, _ b: LinkChange) -> Bool {
        (a.slot, a.target.number, a.action.rawValue) < (b.slot, b.target.number, b.action.rawValue)
    }

    /// The change that takes this one back.
    public var reversed: LinkChange {
        LinkChange(slot: slot, target: target, isAdded: !isAdded, rank: rank)
    }
}

extension LinkChange {
    /// The fewest bytes that one takes.
    public static let minimumBytes = 12
    /// Stands beside the action where a rank follows.
    private static let hasRank: UInt8 = 4

    /// Appends the binary form, which without a rank is: slot, action, tag, number.
    public func encode(into writer: inout ByteWriter) {
        writer.count(slot)
        writer.uint8(action.rawValue | (rank == nil ? 0 : Self.hasRank))
        writer.uint16(target.tag)
        writer.uint64(target.number)
        if let rank { writer.rank(rank) }
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        let slot = try Change.slot(from: &reader)
        let start = reader.offset
        let code = try reader.uint8()
        guard let action = Action(rawValue: code & ~Self.hasRank) else {
            throw CodingError(expected: "what becomes of a member", offset: start)
        }
        let tag = try reader.uint16()
        let target = ObjectReference(tag: tag, number: try reader.uint64())
        let rank = code & Self.hasRank == 0 ? nil : try reader.rank()
        self.init(slot: slot, target: target, action, rank: rank)
    }

    /// Whether a change set may have it for a property: with a rank exactly where there is an order.
    func isValid(for property: CompiledProperty) -> Bool {
        guard property.isToMany, action != .place, let relationship = property.relationship else {
            return false
        }
        return (rank != nil) == relationship.isOrdered
    }
}
