/// A key by which a ``SegmentIndex`` finds payloads: one of a few groups, or one of many members.
///
/// The journal does not interpret keys. In Tandem, groups are entities and members are objects.
public struct IndexKey: Hashable, Comparable, Sendable {
    /// The key as a number in the file.
    let code: UInt64

    private init(code: UInt64) { self.code = code }

    /// Returns the key of a group; group 65535 has the same code as ``unread``.
    public static func group(_ number: UInt16) -> IndexKey {
        IndexKey(code: firstGroup + UInt64(number))
    }

    /// Returns the key of a member.
    ///
    /// The last 65,536 numbers share their codes with groups. Payloads with such members are not
    /// indexed, and a query for one of them may find payloads that don't match.
    public static func member(_ number: UInt64) -> IndexKey { IndexKey(code: number) }

    /// The key of payloads whose keys are unknown; every query includes them.
    static let unread = IndexKey(code: .max)
    private static let firstGroup = UInt64.max - 0xFFFF

    /// Returns whether a key comes before another in the file: members by number, then groups.
    public static func < (a: IndexKey, b: IndexKey) -> Bool { a.code < b.code }
}

/// The keys of a payload.
public struct PayloadKeys: Hashable, Sendable {
    /// The groups, without duplicates.
    public var groups: [UInt16]
    /// The members, in any order.
    public var members: [UInt64]
    /// A number that usually increases; in Tandem, the time.
    public var stamp: Int64

    /// Creates the keys of a payload.
    public init(groups: [UInt16], members: [UInt64], stamp: Int64) {
        self.groups = groups
        self.members = members
        self.stamp = stamp
    }

    /// Whether a key shares its code with a key of another kind, so that an index can't distinguish
    /// the two.
    var areAmbiguous: Bool {
        groups.contains(.max) || members.contains { IndexKey.member($0) >= .group(0) }
    }
}

/// Returns the keys of a payload, or nil if it can't be read; every query then includes it.
public typealias PayloadReading = @Sendable (_ payload: [UInt8]) -> PayloadKeys?

/// A query for payloads by key and stamp.
public struct IndexQuery: Hashable, Sendable {
    /// The keys, at least one of which a payload must have; nil for any payload.
    public var keys: [IndexKey]?
    /// Further keys, whose payloads match regardless of their stamps.
    public var always: [IndexKey]
    /// The range in which the stamps of payloads must lie.
    public var stamps: ClosedRange<Int64>

    /// The number of keys at which the index is ignored and everything is read.
    static let maximumKeys = 1_024

    /// Creates a query.
    public init(
        keys: [IndexKey]?, always: [IndexKey] = [],
        stamps: ClosedRange<Int64> = .min ... .max
    ) {
        self.keys = keys
        self.always = always
        self.stamps = stamps
    }

    /// Whether an index can exclude any payloads.
    public var isSelective: Bool {
        keys.map { $0.count + always.count < Self.maximumKeys } ?? (stamps != .min ... .max)
    }

    /// Returns the keys to look up in a segment with these stamps; nil if no payload can be
    /// excluded.
    func keys(ifStamps held: ClosedRange<Int64>?) -> Set<IndexKey>? {
        let mayMeet = held.map(stamps.overlaps) ?? false
        guard mayMeet else { return Set(always).union([.unread]) }
        return keys.map { Set($0).union(always).union([.unread]) }
    }
}
