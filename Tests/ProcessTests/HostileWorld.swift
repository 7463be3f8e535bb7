import Glibc
import TandemIO
import TandemModel
import TandemWire
import Testing

/// A real daemon with a well-behaved client and a follower; hostile clients must not affect these
/// two.
final class HostileWorld {
    let place: Place
    let daemon: DaemonProcess
    private let saver: WireClient
    private let follower: WireClient
    private let entity: CompiledEntity
    private let version: UInt16
    private var nextNumber: UInt64
    private var saved: [UInt64] = []
    private var seen: [UInt64] = []

    init(options: [String] = []) throws {
        place = try Place()
        daemon = try DaemonProcess.serving(
            store: place.store, socket: place.socket, options: options, limits: "ulimit -n 4096")
        let model = killModel.json.text
        saver = try WireClient(place.socket, Hello(author: "honest", model: model))
        follower = try WireClient(
            place.socket, Hello(author: "follower", model: model, interests: ["Note"]))
        var reader = ByteReader(try #require(saver.welcome.model))
        let compiled = try CompiledModel(from: &reader)
        version = compiled.version
        entity = try #require(compiled.entity(named: "Note"))
        nextNumber = saver.welcome.lease.first
    }

    /// Returns a connection that has sent nothing.
    func stranger() throws -> Socket { try Socket.connect(path: place.socket) }

    /// Returns a connection that has received its welcome.
    func guest() throws -> Socket {
        let guest = try stranger()
        try guest.writeAll(try Self.hello())
        var decoder = DaemonMessageDecoder()
        var byte: [UInt8] = [0]
        while try decoder.next() == nil {
            let count = try byte.withUnsafeMutableBytes { try guest.readSome(into: $0) }
            try #require(count == 1, "the daemon sent no welcome")
            decoder.append(byte)
        }
        return guest
    }

    /// Returns the bytes of a hello.
    static func hello(_ author: String = "hostile") throws -> [UInt8] {
        var bytes: [UInt8] = []
        try FrameEncoder.encode(
            ClientMessage.hello(Hello(author: author, interests: ["Note"])), into: &bytes)
        return bytes
    }

    /// Returns a save of one note with the given text.
    func save(number: UInt64, id: String, text: String) throws -> SaveRequest {
        let key = try #require(entity.slot(of: "key"))
        let bytes = Array(id.utf8)
        return SaveRequest(
            saveID: bytes, contentHash: StableHash(bytes), modelVersion: version,
            operations: [
                .insert(
                    object: ObjectReference(tag: entity.tag, number: number),
                    values: [SlotValue(slot: key, value: .string(text))], links: [])
            ])
    }

    /// Saves with the honest client, and expects that its follower receives each save once, in
    /// order.
    func saveAndFollow(
        text: String? = nil, _ location: SourceLocation = #_sourceLocation
    ) throws {
        let name = "honest \(nextNumber)"
        let request = try save(number: nextNumber, id: name, text: name + (text ?? ""))
        nextNumber += 1
        guard case .saved(let answer) = try saver.ask(.save(request)) else {
            Issue.record("the honest client's save was refused", sourceLocation: location)
            return
        }
        saved.append(answer.position)
        follower.onPush = { [unowned self] in seen.append($0.transaction.position) }
        _ = try follower.ask(.sync(Sync(number: answer.position)))
        #expect(seen.last == answer.position, sourceLocation: location)
        #expect(Set(saved).isSubset(of: seen), sourceLocation: location)
        #expect(zip(seen, seen.dropFirst()).allSatisfy(<), sourceLocation: location)
    }

    /// Returns the daemon's status.
    func status() throws -> JSON {
        guard case .status(let text) = try saver.ask(.status) else { return .null }
        return try JSON(parsing: text)
    }

    /// Returns the number of the daemon's open descriptors.
    func descriptors() throws -> Int {
        try RealFileSystem().list("/proc/\(daemon.processID)/fd").count
    }

    /// Returns the daemon's anonymous memory, in bytes.
    func memory() throws -> Int {
        try ProcessSize(daemon.processID).bytes
    }

    /// Waits until the daemon has closed the descriptors of disconnected clients; returns false if
    /// it does not.
    ///
    /// The requests sent meanwhile make the daemon run its loop.
    func descriptorsComeDown(to count: Int) throws -> Bool {
        for _ in 0..<2_000 {
            if try descriptors() <= count { return true }
            _ = try saver.ask(.sync(Sync()))
        }
        return false
    }

    /// Stops the daemon regularly, and expects that its store has no faults.
    func finish(_ location: SourceLocation = #_sourceLocation) throws {
        try saveAndFollow()
        #expect(daemon.end(SIGTERM) == 0, sourceLocation: location)
        let check = try CommandRun("tandem", ["check", "-D", place.store])
        #expect(check.code == 0, "\(check.output)", sourceLocation: location)
    }
}

extension Socket {
    /// Returns the last failure that the other side sends before it closes the connection.
    func failureBeforeEnd() throws -> TandemError? {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        var decoder = DaemonMessageDecoder()
        var failure: TandemError?
        while true {
            let count = try? buffer.withUnsafeMutableBytes { try readSome(into: $0) }
            guard let count, count > 0 else { return failure }
            decoder.append(Array(buffer[..<count]))
            while let envelope = try decoder.next() {
                if case .failure(let error) = envelope.message { failure = error }
            }
        }
    }
}
