import Glibc

/// One connection to the daemon that subscribes to an entity with the bare protocol; it costs
/// little more than the reads themselves.
///
/// It checks that the first push names the welcome's position, and each other push the previous
/// one.
struct WireSubscriber {
    let descriptor: Int32
    /// The last announced position; nil before the welcome.
    private(set) var cursor: UInt64?
    /// The number of received transactions.
    private(set) var transactions = 0
    /// The size of the last push's frame in bytes.
    private(set) var frameBytes = 0
    private var rest: [UInt8] = []

    private enum MessageType {
        static let welcome: UInt8 = 64
        static let transaction: UInt8 = 65
        static let progress: UInt8 = 66
        static let state: UInt8 = 78
    }

    /// The protocol version, which is that of Protocol.md.
    private static let protocolVersion: UInt8 = 3
    private static let headerBytes = 12
    /// The offset of a transaction's position in a push's payload.
    private static let positionOffset = 8 + 6

    /// Connects, and sends a hello.
    init(_ socket: String, entity: String) throws {
        descriptor = try connected(to: socket)
        var payload = [Self.protocolVersion, 0]
        payload += Self.text("subscriber") + [0, 0, 1] + Self.text(entity)
        let hello = [UInt8(payload.count), 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0] + payload
        guard write(descriptor, hello, hello.count) == hello.count else {
            throw Failure("the daemon did not accept the hello: errno \(errno)")
        }
    }

    private static func text(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + text.utf8 }

    /// Reads once, which must not block, and handles every complete frame.
    ///
    /// Calls `got` with the position of each transaction.
    mutating func receive(
        _ buffer: UnsafeMutableRawBufferPointer, _ got: (UInt64) -> Void
    ) throws {
        let kept = rest.count
        buffer.copyBytes(from: rest)
        let count = read(descriptor, buffer.baseAddress.map { $0 + kept }, buffer.count - kept)
        guard count > 0 else { throw Failure("the daemon closed a subscriber's connection") }
        let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<(kept + count)])
        var at = 0
        while bytes.count - at >= Self.headerBytes {
            let end = at + Self.headerBytes + Int(number(bytes, at, UInt32.self))
            guard end <= bytes.count else { break }
            try consume(UnsafeRawBufferPointer(rebasing: bytes[at..<end]), got)
            at = end
        }
        rest.removeAll(keepingCapacity: true)
        if at < bytes.count { rest += bytes[at...] }
    }

    private mutating func consume(
        _ frame: UnsafeRawBufferPointer, _ got: (UInt64) -> Void
    ) throws {
        let payload = Self.headerBytes
        switch frame[4] {
        case MessageType.welcome: cursor = number(frame, payload + 2 + 16 + 4, UInt64.self)
        case MessageType.transaction:
            let position = number(frame, payload + Self.positionOffset, UInt64.self)
            try advance(from: number(frame, payload, UInt64.self), to: position)
            transactions += 1
            frameBytes = frame.count
            got(position)
        case MessageType.progress:
            try advance(
                from: number(frame, payload, UInt64.self),
                to: number(frame, payload + 8, UInt64.self))
        case MessageType.state: break
        default: throw Failure("a subscriber got a message of type \(frame[4])")
        }
    }

    private mutating func advance(from previous: UInt64, to position: UInt64) throws {
        guard previous == cursor, position > previous else {
            throw Failure("\(position) comes after \(previous), a subscriber is at \(cursor ?? 0)")
        }
        cursor = position
    }
}

/// Returns a little-endian number in bytes.
private func number<Number: FixedWidthInteger & BitwiseCopyable>(
    _ bytes: UnsafeRawBufferPointer, _ offset: Int, _ type: Number.Type
) -> Number {
    Number(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: type))
}

/// Returns a Unix stream socket at a path, either connected or listening.
func connected(to path: String, listening: Bool = false) throws -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let fits = withUnsafeMutableBytes(of: &address.sun_path) { room in
        guard path.utf8.count < room.count else { return false }
        room.copyBytes(from: path.utf8)
        return true
    }
    let status = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            let length = socklen_t(MemoryLayout<sockaddr_un>.size)
            return listening ? bind(descriptor, $0, length) : connect(descriptor, $0, length)
        }
    }
    guard fits, descriptor >= 0, status == 0, !listening || listen(descriptor, 1_024) == 0 else {
        throw Failure("no socket at \(path): errno \(errno)")
    }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    return descriptor
}
