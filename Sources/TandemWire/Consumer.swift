public import TandemModel

/// Registers a named consumer of the journal, moves it on, or removes it.
///
/// A consumer holds back what retention would give up, up to the daemon's cap. It belongs to the user who registered it.
public struct ConsumerRequest: WireCodable {
    /// The consumer's name, of 1 to 128 bytes without control characters.
    public var name: String
    /// What is to be done.
    public var action: Action

    /// What can be done with a consumer.
    public enum Action: Hashable, Sendable {
        /// It needs everything above a position, nil for the end; one that is known keeps its place unless it is expired.
        case register(at: Position?)
        /// It needs nothing up to a position any more.
        case acknowledge(Position)
        /// It is no more.
        case remove
        /// It needs everything above a position, nil for the end, wherever it was.
        case reset(to: Position?)
    }

    /// A request about the consumer `name`.
    public init(name: String, action: Action) {
        self.name = name
        self.action = action
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
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
    public init(from reader: inout ByteReader) throws(CodingError) {
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
public struct ConsumerAnswer: WireCodable {
    /// The last number that the consumer needs no more, or needed no more when it was removed; nil if there was none to remove.
    public var acknowledged: UInt64?

    /// An answer about a consumer that needs nothing up to a number.
    public init(acknowledged: UInt64?) { self.acknowledged = acknowledged }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.optional(acknowledged) { $0.uint64($1) }
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        acknowledged = try reader.optional { reader throws(CodingError) in try reader.uint64() }
    }
}
