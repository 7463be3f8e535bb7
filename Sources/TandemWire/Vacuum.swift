public import TandemModel

/// Asks for the oldest part of the journal to be given up, once, whatever retention keeps.
///
/// A segment goes when any of the bounds says so. Without force nothing goes that a consumer, a client or a pin needs.
public struct VacuumRequest: WireCodable {
    /// Segments go as long as the journal is larger than this, in bytes; nil for any size.
    public var keepBytes: UInt64?
    /// Segments go whose last transaction is older than this, in seconds; nil for any age.
    public var keepSeconds: UInt64?
    /// Segments go that end below this position; nil for none.
    public var before: UInt64?
    /// Whether those who need it are expired, instead of holding it back.
    public var isForced: Bool
    /// Whether it is only to be said what would go.
    public var isDryRun: Bool

    /// A request with up to three bounds.
    public init(
        keepBytes: UInt64? = nil, keepSeconds: UInt64? = nil, before: UInt64? = nil,
        isForced: Bool = false, isDryRun: Bool = false
    ) {
        self.keepBytes = keepBytes
        self.keepSeconds = keepSeconds
        self.before = before
        self.isForced = isForced
        self.isDryRun = isDryRun
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        for bound in [keepBytes, keepSeconds, before] {
            writer.optional(bound) { $0.uint64($1) }
        }
        writer.bool(isForced)
        writer.bool(isDryRun)
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        keepBytes = try reader.optional { reader throws(CodingError) in try reader.uint64() }
        keepSeconds = try reader.optional { reader throws(CodingError) in try reader.uint64() }
        before = try reader.optional { reader throws(CodingError) in try reader.uint64() }
        isForced = try reader.bool()
        isDryRun = try reader.bool()
    }
}

/// The answer to ``VacuumRequest``.
public struct Vacuumed: WireCodable {
    /// The oldest position that was there before.
    public var first: UInt64
    /// The oldest position that is kept.
    public var trimBelow: UInt64
    /// How many segments went.
    public var segments: UInt32
    /// Their bytes.
    public var bytes: UInt64
    /// How many segments are kept.
    public var keptSegments: UInt32
    /// Their bytes.
    public var keptBytes: UInt64
    /// Whether the same request would give up more.
    public var isMore: Bool
    /// Who needs something of what was asked for.
    public var holders: [Holder]

    /// Somebody who needs a part of the journal.
    public struct Holder: WireCodable {
        /// Who that can be.
        public enum Kind: UInt8, Hashable, Sendable, CaseIterable {
            /// A registered consumer.
            case consumer = 1
            /// A connected client that was not yet sent it.
            case client
            /// A client that reads at an earlier position.
            case pin
        }

        /// Who it is.
        public var kind: Kind
        /// What people know it by.
        public var name: String
        /// It needs everything above this position.
        public var position: UInt64
        /// How many bytes of what was asked for it needs.
        public var bytes: UInt64

        /// Somebody who needs what is above a position.
        public init(kind: Kind, name: String, position: UInt64, bytes: UInt64 = 0) {
            self.kind = kind
            self.name = name
            self.position = position
            self.bytes = bytes
        }

        /// Appends the binary form.
        public func encode(into writer: inout ByteWriter) {
            writer.uint8(kind.rawValue)
            writer.string(name)
            writer.uint64(position)
            writer.uint64(bytes)
        }

        /// Reads the binary form or throws `CodingError`.
        public init(from reader: inout ByteReader) throws(CodingError) {
            let offset = reader.offset
            guard let kind = Kind(rawValue: try reader.uint8()) else {
                throw CodingError(expected: "a kind of holder", offset: offset)
            }
            self.kind = kind
            name = try reader.string()
            position = try reader.uint64()
            bytes = try reader.uint64()
        }
    }

    /// An answer of the given content.
    public init(
        first: UInt64, trimBelow: UInt64, segments: UInt32, bytes: UInt64, keptSegments: UInt32,
        keptBytes: UInt64, isMore: Bool, holders: [Holder]
    ) {
        self.first = first
        self.trimBelow = trimBelow
        self.segments = segments
        self.bytes = bytes
        self.keptSegments = keptSegments
        self.keptBytes = keptBytes
        self.isMore = isMore
        self.holders = holders
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.uint64(first)
        writer.uint64(trimBelow)
        writer.uint32(segments)
        writer.uint64(bytes)
        writer.uint32(keptSegments)
        writer.uint64(keptBytes)
        writer.bool(isMore)
        writer.list(holders)
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        first = try reader.uint64()
        trimBelow = try reader.uint64()
        segments = try reader.uint32()
        bytes = try reader.uint64()
        keptSegments = try reader.uint32()
        keptBytes = try reader.uint64()
        isMore = try reader.bool()
        holders = try reader.list(of: Holder.self, itemBytes: 18)
    }
}
