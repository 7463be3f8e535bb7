package import TandemModel

/// The first message of a connection: the client's identity, and the position at which to resume.
package struct Hello: WireCodable {
    /// The version of the protocol that the client speaks.
    package var protocolVersion: UInt16
    /// The name under which the client's saves appear in the journal; self-declared.
    package var author: String
    /// The client's model as JSON; nil to use the daemon's model.
    package var model: String?
    /// The last position that the client has seen, after which to resume; nil to start at the tail.
    package var resume: Position?
    /// The entities whose transactions are pushed, by name; subentities must be listed too.
    package var interests: [String]
    /// The number of object numbers to lease with the welcome; nil for the daemon's default.
    ///
    /// Numbers are never returned, so a client that creates no objects should request none.
    package var numbers: UInt32?

    /// Creates a hello with the given content.
    package init(
        protocolVersion: UInt16 = WireLimits.protocolVersion, author: String = "",
        model: String? = nil, resume: Position? = nil, interests: [String] = [],
        numbers: UInt32? = nil
    ) {
        self.protocolVersion = protocolVersion
        self.author = author
        self.model = model
        self.resume = resume
        self.interests = interests
        self.numbers = numbers
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.uint16(protocolVersion)
        writer.string(author)
        writer.optional(model) { $0.string($1) }
        writer.optional(resume) { $0.position($1) }
        writer.names(interests)
        if let numbers { writer.uint32(numbers) }
    }

    /// Reads the binary form; for another protocol version, reads only the version.
    package init(from reader: inout ByteReader) throws(CodingError) {
        self.init(protocolVersion: try reader.uint16())
        guard protocolVersion == WireLimits.protocolVersion else {
            _ = try reader.consume(reader.remaining, "a hello of another version")
            return
        }
        author = try reader.string()
        model = try reader.optionalString()
        resume = try reader.optional { reader throws(CodingError) in try reader.position() }
        interests = try reader.names()
        numbers = reader.isAtEnd ? nil : try reader.uint32()
    }
}

/// The answer to a hello: the daemon's position, and the data that the client needs to start.
package struct Welcome: WireCodable {
    /// The version of the protocol used from now on.
    package var protocolVersion: UInt16
    /// The log's id.
    package var log: LogID
    /// The log's epoch.
    package var epoch: UInt32
    /// The durable tail of the journal.
    ///
    /// If ``resumed`` is true, pushes begin after the hello's position, otherwise after this one.
    package var position: UInt64
    /// Whether pushes resume after the position that the hello requested.
    ///
    /// False if history expired or the hello had no position.
    package var resumed: Bool
    /// The store's model in `CompiledModel`'s binary form; nil in a store without one.
    package var model: [UInt8]?
    /// The first block of object numbers.
    package var lease: Lease
    /// The position above which every save id is still known.
    package var saveIDFloor: UInt64
    /// Whether saves are refused at present.
    package var isReadOnly: Bool
    /// The daemon's name and version.
    package var server: String
    /// The limits that the client has to observe.
    package var limits: SessionLimits

    /// Creates a welcome with the given content.
    package init(
        protocolVersion: UInt16 = WireLimits.protocolVersion, log: LogID, epoch: UInt32,
        position: UInt64, resumed: Bool, model: [UInt8]?, lease: Lease, saveIDFloor: UInt64 = 0,
        isReadOnly: Bool = false, server: String = "", limits: SessionLimits = SessionLimits()
    ) {
        self.protocolVersion = protocolVersion
        self.log = log
        self.epoch = epoch
        self.position = position
        self.resumed = resumed
        self.model = model
        self.lease = lease
        self.saveIDFloor = saveIDFloor
        self.isReadOnly = isReadOnly
        self.server = server
        self.limits = limits
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.uint16(protocolVersion)
        writer.position(Position(log: log, epoch: epoch, number: position))
        writer.bool(resumed)
        writer.optional(model) { $0.blob($1) }
        lease.encode(into: &writer)
        writer.uint64(saveIDFloor)
        writer.bool(isReadOnly)
        writer.string(server)
        limits.encode(into: &writer)
    }

    /// Reads the binary form; throws `CodingError` if it is invalid or has another protocol
    /// version.
    package init(from reader: inout ByteReader) throws(CodingError) {
        let start = reader.offset
        protocolVersion = try reader.uint16()
        guard protocolVersion == WireLimits.protocolVersion else {
            throw CodingError(
                expected: "protocol version \(WireLimits.protocolVersion)", offset: start)
        }
        let end = try reader.position()
        (log, epoch, position) = (end.log, end.epoch, end.number)
        resumed = try reader.bool()
        model = try reader.optionalBlob()
        lease = try Lease(from: &reader)
        saveIDFloor = try reader.uint64()
        isReadOnly = try reader.bool()
        server = try reader.string()
        limits = try SessionLimits(from: &reader)
    }
}

/// A block of object numbers that only this client may use, until the epoch ends.
package struct Lease: WireCodable {
    /// The first number.
    package var first: UInt64
    /// The number of object numbers; `first` plus `count` never overflows.
    package var count: UInt32
    /// The epoch at whose end the block expires.
    package var epoch: UInt32

    /// Creates a block of `count` numbers from `first`.
    package init(first: UInt64, count: UInt32, epoch: UInt32) {
        self.first = first
        self.count = count
        self.epoch = epoch
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.uint64(first)
        writer.uint32(count)
        writer.uint32(epoch)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        let start = reader.offset
        first = try reader.uint64()
        count = try reader.uint32()
        epoch = try reader.uint32()
        guard !first.addingReportingOverflow(UInt64(count)).overflow else {
            throw CodingError(expected: "a block of 64-bit numbers", offset: start)
        }
    }
}

extension ByteWriter {
    mutating func position(_ value: Position) {
        uint64(value.log.high)
        uint64(value.log.low)
        uint32(value.epoch)
        uint64(value.number)
    }
}

extension ByteReader {
    mutating func position() throws(CodingError) -> Position {
        let log = LogID(high: try uint64(), low: try uint64())
        let epoch = try uint32()
        return Position(log: log, epoch: epoch, number: try uint64())
    }
}
