public import TandemModel

/// Whether the daemon takes saves, pushed when that changes and after a welcome while it does not.
///
/// It says nothing of positions and moves no cursor. A session that is slow to read hears the latest state only.
public struct StatePush: WireCodable {
    /// True while no saves are taken; reads and pushes go on.
    public var isReadOnly: Bool
    /// Since when, in microseconds since 1970.
    public var since: Int64
    /// Why no saves are taken and what to do; empty when they are.
    public var reason: String

    /// A state that began at a time.
    public init(isReadOnly: Bool, since: Int64, reason: String) {
        self.isReadOnly = isReadOnly
        self.since = since
        self.reason = reason
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.bool(isReadOnly)
        writer.int64(since)
        writer.string(reason)
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        isReadOnly = try reader.bool()
        since = try reader.int64()
        reason = try reader.string()
    }
}
