package import TandemModel

/// A request to register, acknowledge for, reset or remove a named consumer of the journal.
///
/// Retention keeps the segments that a consumer needs, up to the daemon's cap. A consumer belongs
/// to the user who registered it.
package struct ConsumerRequest: WireCodable {
    /// The consumer's name, of 1 to 128 bytes without control characters.
    package var name: String
    /// The action on the consumer.
    package var action: Action

    /// The actions on a consumer.
    package enum Action: Hashable, Sendable {
        /// Registers a consumer that needs everything after a position; nil means the tail.
        ///
        /// A consumer that is already registered keeps its position unless it is expired.
        case register(at: Position?)
        /// Acknowledges everything up to a position.
        case acknowledge(Position)
        /// Removes the consumer.
        case remove
        /// Moves the consumer to a position, forward or back; nil means the tail.
        case reset(to: Position?)
    }

    /// Creates a request about the consumer `name`.
    package init(name: String, action: Action) {
        self.name = name
        self.action = action
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.string(name)
        switch action {
        case .register(let position):
            writer.uint8(1)
            writer.optional(position) { $0.position($1) }
        case .acknowledge(let position):
            writer.uint8(2)
            writer.position(position)
        case .remove: writer.uint8(3)
        case .reset(let position):
            writer.uint8(4)
            writer.optional(position) { $0.position($1) }
        }
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        name = try reader.string()
        let offset = reader.offset
        switch try reader.uint8() {
        case 1:
            action = .register(
                at: try reader.optional { reader throws(CodingError) in try reader.position() })
        case 2: action = .acknowledge(try reader.position())
        case 3: action = .remove
        case 4:
            action = .reset(
                to: try reader.optional { reader throws(CodingError) in try reader.position() })
        default: throw CodingError(expected: "an action on a consumer", offset: offset)
        }
    }
}

/// The answer to ``ConsumerRequest``.
package struct ConsumerAnswer: WireCodable {
    /// The consumer's last acknowledged position, even after its removal; nil if there was no
    /// consumer to remove.
    package var acknowledged: UInt64?

    /// Creates an answer about a consumer that has acknowledged everything up to a position.
    package init(acknowledged: UInt64?) { self.acknowledged = acknowledged }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.optional(acknowledged) { $0.uint64($1) }
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        acknowledged = try reader.optional { reader throws(CodingError) in try reader.uint64() }
    }
}
