package import TandemModel

/// A request to remove the oldest segments of the journal once, regardless of the retention
/// settings.
///
/// A segment is selected if it exceeds any of the bounds. Without `isForced`, segments that a
/// consumer, a client or a pin needs are kept.
package struct VacuumRequest: WireCodable {
    /// The size in bytes to which the journal should shrink; nil for no bound.
    package var keepBytes: UInt64?
    /// The age in seconds above which segments are selected, measured by their last transaction;
    /// nil for no bound.
    package var keepSeconds: UInt64?
    /// The position below which a segment must end to be selected; nil for no bound.
    package var before: UInt64?
    /// Whether readers that need selected segments are expired, instead of holding the segments
    /// back.
    package var isForced: Bool
    /// Whether the daemon only reports the segments that it would remove.
    package var isDryRun: Bool

    /// Creates a request with up to three bounds.
    package init(
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
    package func encode(into writer: inout ByteWriter) {
        for bound in [keepBytes, keepSeconds, before] {
            writer.optional(bound) { $0.uint64($1) }
        }
        writer.bool(isForced)
        writer.bool(isDryRun)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        keepBytes = try reader.optional { reader throws(CodingError) in try reader.uint64() }
        keepSeconds = try reader.optional { reader throws(CodingError) in try reader.uint64() }
        before = try reader.optional { reader throws(CodingError) in try reader.uint64() }
        isForced = try reader.bool()
        isDryRun = try reader.bool()
    }
}

/// The answer to ``VacuumRequest``.
package struct VacuumAnswer: WireCodable {
    /// The oldest position before the request.
    package var first: UInt64
    /// The oldest position after the request.
    package var trimBelow: UInt64
    /// The number of segments removed.
    package var segments: UInt32
    /// The size of the removed segments in bytes.
    package var bytes: UInt64
    /// The number of segments kept.
    package var keptSegments: UInt32
    /// The size of the kept segments in bytes.
    package var keptBytes: UInt64
    /// Whether the same request would remove more.
    package var isMore: Bool
    /// The readers that need at least one of the selected segments.
    package var holders: [RetentionHolder]

    /// A reader that needs a part of the journal.
    package struct RetentionHolder: WireCodable {
        /// The kinds of holders.
        package enum Kind: UInt8, Hashable, Sendable, CaseIterable {
            /// A registered consumer.
            case consumer = 1
            /// A connected client to which that part has not been sent yet.
            case client
            /// A client that reads at an earlier position.
            case pin
        }

        /// The kind of the holder.
        package var kind: Kind
        /// The name of the holder, for display.
        package var name: String
        /// The position after which the holder needs everything.
        package var position: UInt64
        /// The number of selected bytes that the holder needs.
        package var bytes: UInt64

        /// Creates a holder that needs everything after a position.
        package init(kind: Kind, name: String, position: UInt64, bytes: UInt64 = 0) {
            self.kind = kind
            self.name = name
            self.position = position
            self.bytes = bytes
        }

        /// Appends the binary form.
        package func encode(into writer: inout ByteWriter) {
            writer.uint8(kind.rawValue)
            writer.string(name)
            writer.uint64(position)
            writer.uint64(bytes)
        }

        /// Reads the binary form or throws `CodingError`.
        package init(from reader: inout ByteReader) throws(CodingError) {
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

    /// Creates an answer with the given content.
    package init(
        first: UInt64, trimBelow: UInt64, segments: UInt32, bytes: UInt64, keptSegments: UInt32,
        keptBytes: UInt64, isMore: Bool, holders: [RetentionHolder]
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
    package func encode(into writer: inout ByteWriter) {
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
    package init(from reader: inout ByteReader) throws(CodingError) {
        first = try reader.uint64()
        trimBelow = try reader.uint64()
        segments = try reader.uint32()
        bytes = try reader.uint64()
        keptSegments = try reader.uint32()
        keptBytes = try reader.uint64()
        isMore = try reader.bool()
        holders = try reader.list(of: RetentionHolder.self, itemBytes: 18)
    }
}
