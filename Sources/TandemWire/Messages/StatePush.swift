package import TandemModel

/// The daemon's read-only state, pushed when it changes and, while saves are refused, after each
/// welcome.
///
/// The push has no position and moves no cursor. A slow reader receives only the latest state.
package struct StatePush: WireCodable {
    /// Whether saves are refused; reads and pushes continue.
    package var isReadOnly: Bool
    /// The time at which the state began, in microseconds since 1970.
    package var since: Int64
    /// The reason why saves are refused, with the remedy; empty if they are accepted.
    package var reason: String

    /// Creates a state that began at the given time.
    package init(isReadOnly: Bool, since: Int64, reason: String) {
        self.isReadOnly = isReadOnly
        self.since = since
        self.reason = reason
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.bool(isReadOnly)
        writer.int64(since)
        writer.string(reason)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        isReadOnly = try reader.bool()
        since = try reader.int64()
        reason = try reader.string()
    }
}
