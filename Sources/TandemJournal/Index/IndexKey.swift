/// What payloads are found by in a ``SegmentIndex``: a group, of which there are few, or a member, of which there are many.
///
/// The journal does not know what they mean; in Tandem groups are entities and members objects.
public struct IndexKey: Hashable, Comparable, Sendable {
    /// The number that it has in the file.
    let code: UInt64

    private init(code: UInt64) { self.code = code }

    /// A group; 65535 is none, for it has the place of ``unread``.
    public static func group(_ number: UInt16) -> IndexKey {
        IndexKey(code: firstGroup + UInt64(number))
    }

    /// A member.
    ///
    /// One of the last 65,536 numbers there are is taken for a group too, which gives a payload too many.
    public static func member(_ number: UInt64) -> IndexKey { IndexKey(code: number) }

    /// Where payloads stand whose keys are not known: they may be any.
    static let unread = IndexKey(code: .max)
    private static let firstGroup = UInt64.max - 0xFFFF

    /// Orders as the file does: members by number, then groups.
    public static func < (a: IndexKey, b: IndexKey) -> Bool { a.code < b.code }
}

/// What a payload is to be found by.
public struct PayloadKeys: Hashable, Sendable {
    /// Its groups, each once.
    public var groups: [UInt16]
    /// Its members, in any order.
    public var members: [UInt64]
    /// A number that rises by and large, in Tandem the time.
    public var stamp: Int64

    /// The keys of a payload.
    public init(groups: [UInt16], members: [UInt64], stamp: Int64) {
        self.groups = groups
        self.members = members
        self.stamp = stamp
    }
}

/// Tells the keys of a payload; nil when it can't be read, which lets every question find it.
public typealias PayloadReading = @Sendable (_ payload: [UInt8]) -> PayloadKeys?

/// Which payloads are looked for.
public struct IndexQuestion: Hashable, Sendable {
    /// Those with one of these keys; nil for any.
    public var keys: [IndexKey]?
    /// These too, whatever their stamps.
    public var always: [IndexKey]
    /// With a stamp among these.
    public var stamps: ClosedRange<Int64>

    /// More keys are not looked up: everything is read.
    static let maximumKeys = 1_024

    /// A question.
    public init(
        keys: [IndexKey]?, always: [IndexKey] = [],
        stamps: ClosedRange<Int64> = .min ... .max
    ) {
        self.keys = keys
        self.always = always
        self.stamps = stamps
    }

    /// Whether an index may leave anything out.
    public var isSelective: Bool {
        keys.map { $0.count + always.count < Self.maximumKeys } ?? (stamps != .min ... .max)
    }

    /// The keys to look up in a segment with these stamps; nil where nothing can be left out.
    func keys(ifStamps held: ClosedRange<Int64>?) -> Set<IndexKey>? {
        let mayMeet = held.map(stamps.overlaps) ?? false
        guard mayMeet else { return Set(always).union([.unread]) }
        return keys.map { Set($0).union(always).union([.unread]) }
    }
}
