import FoundationEssentials
import Glibc
import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import Testing

/// A stop in the middle of a batch, as a service manager requests it.
@Suite(.ownThread) struct ServiceManagerBatchTests {
    /// The number of objects: enough for a batch to need at least a dozen transactions.
    private static let objects = 16_000

    private static let model = ManagedObjectModel { Entity("Item") { Attribute("rank", .int) } }

    private let place: Place
    /// The path of the log file.
    ///
    /// Lines reach a file at once, so a test knows which lines were logged before a moment.
    private var log: String { place.path + "/log" }

    init() throws { place = try Place() }

    private func start() throws -> DaemonProcess {
        let daemon = try DaemonProcess(
            "tandemd", ["--store", place.store, "--socket", place.socket, "--log-level", "debug"],
            shell: "exec 2>>'\(log)'")
        while (try? Socket.connect(path: place.socket)) == nil {}
        return daemon
    }

    private func client() throws -> WireClient {
        try WireClient(
            place.socket,
            Hello(author: "batch", model: Self.model.json.text, interests: ["Item"]))
    }

    private func item(_ client: WireClient) throws -> CompiledEntity {
        var reader = ByteReader(try #require(client.welcome.model))
        return try #require(try CompiledModel(from: &reader).entity(named: "Item"))
    }

    private func fill(_ client: WireClient, _ item: CompiledEntity) throws {
        var saved = 0
        while saved < Self.objects {
            guard case .lease(let lease) = try client.ask(.lease(count: 1_000)) else { break }
            let operations = (0..<UInt64(lease.count)).map {
                SaveOperation.insert(
                    object: ObjectReference(tag: item.tag, number: lease.first + $0), values: [],
                    links: [])
            }
            let request = SaveRequest(
                saveID: Array("fill \(saved)".utf8), contentHash: StableHash([]),
                modelVersion: 1, operations: operations)
            guard case .saved = try client.ask(.save(request)) else { break }
            saved += operations.count
        }
        try #require(saved == Self.objects)
    }

    /// Returns the events of lines of the log, in their order.
    private func events(_ log: Substring) -> [String] {
        log.split(separator: "\n").compactMap { line in
            line.split(separator: " ").dropFirst().first.map { String($0.dropLast()) }
        }
    }

    private func readLog() throws -> String {
        try String(contentsOfFile: log, encoding: .utf8)
    }

    /// Returns the transactions of a batch from the journal of a daemon that has ended.
    private func parts(of batch: Batch) throws -> [Transaction] {
        try Journaled(place).transactions.filter { $0.saveID == batch.batchID }
    }

    @Test
    func `laws 3 and 7: a stop during a batch flushes one more transaction, and a retry resumes`()
        throws
    {
        let daemon = try start()
        let client = try client()
        let item = try item(client)
        try fill(client, item)
        let batch = Batch(
            batchID: Array("all".utf8), contentHash: StableHash([1]), modelVersion: 1,
            request: FetchDescriptor(entity: "Item"), work: .delete)
        var heard = 0
        client.onPush = { push in
            if (try? push.transaction.decoded())?.batch != nil { heard += 1 }
        }
        var bytes: [UInt8] = []
        try FrameEncoder.encode(ClientMessage.batch(batch), id: 1_000_000, into: &bytes)
        try client.write(bytes)
        while heard < 2 { try #require(try client.receive() == nil, "it has ended already") }
        // The daemon is stopped here, so everything that it logs later comes after the signal.
        try suspendProcess(daemon.processID)
        let before = try readLog()
        kill(daemon.processID, SIGTERM)
        kill(daemon.processID, SIGCONT)
        #expect(daemon.wait() == 0)
        let after = events(try readLog().dropFirst(before.count))
        let stopping = try #require(after.firstIndex(of: "stopping"), "\(after)")
        // Two transactions at most: the one in progress when the daemon was stopped, and one more.
        #expect(after[..<stopping].count { $0 == "flushed" } <= 2, "\(after)")
        #expect(!after[stopping...].contains("flushed"), "\(after)")
        #expect(after.count { $0 == "checkpoint" } <= 2, "\(after)")
        let first = try parts(of: batch)
        #expect(first.count >= 2 && first.allSatisfy { $0.batch?.hasEnded == false })
        try resume(batch, behind: first)
    }

    /// Repeats the batch on a restarted daemon, which processes the remaining objects, each once.
    private func resume(_ batch: Batch, behind first: [Transaction]) throws {
        let daemon = try start()
        let client = try client()
        guard case .batched(let answer) = try client.ask(.batch(batch)) else {
            Issue.record("an unexpected answer to the repeat")
            return
        }
        #expect(answer.count == UInt64(Self.objects) && answer.failure == nil)
        client.close()
        #expect(daemon.end(SIGTERM) == 0)
        let parts = try parts(of: batch)
        #expect(parts.count > first.count && parts.last?.batch?.hasEnded == true)
        #expect(Array(parts.prefix(first.count)).map(\.position) == first.map(\.position))
        let deleted = parts.flatMap(\.changes).map(\.object)
        #expect(deleted.count == Self.objects && Set(deleted).count == Self.objects)
        let reached = parts.compactMap(\.batch?.reached)
        #expect(zip(reached, reached.dropFirst()).allSatisfy { $0 < $1 })
    }
}
