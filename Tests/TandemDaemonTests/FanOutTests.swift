import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// Pushes to many sessions that follow different entities.
@Suite(.ownThread) struct FanOutTests {
    @Test(arguments: 0..<6)
    func
        `law 2: each session gets the transactions that it follows, once and in order, whatever others do`(
            round: Int
        ) throws
    {
        let seed = seed &+ UInt64(round)
        let bench = try EngineBench()
        var random = SplitMix64(seed: seed)
        let followers = try (0..<12).map { _ in try Follower(bench, &random) }
        var number: UInt64 = 0
        for _ in 0..<150 {
            guard let follower = followers.randomElement(using: &random) else { break }
            switch Int.random(in: 0..<10, using: &random) {
            case 0: try follower.widen(&random)
            case 1: try follower.comeBack(&random)
            case 2...3: try follower.peer.read()
            case 4...5: try bench.turn()
            default: try follower.save(&random, &number)
            }
        }
        for follower in followers { try follower.finish() }
        let truth = try encoded(bench)
        for follower in followers {
            #expect(follower.gets == follower.expected(truth), "seed \(seed)")
        }
        // The registry has no entries of disconnected sessions.
        for follower in followers { bench.engine.disconnect(follower.peer.session, because: nil) }
        #expect(bench.engine.pushes.groupCount == 0)
    }

    /// Deinitialisation is the only way for a daemon inside another process to close its sockets.
    @Test func `law 7: a daemon that is released releases its sessions, whatever they follow`()
        throws
    {
        weak var session: Session?
        do {
            let bench = try EngineBench()
            let client = try bench.client(Hello(author: "c", interests: ["Tag"]))
            session = client.session
            #expect(session?.interests.isEmpty == false)
        }
        #expect(session == nil)
    }

    @Test func `law 2: a transaction without subscribers costs no session a turn`() throws {
        let bench = try EngineBench()
        let saver = try bench.client()
        let idle = try (0..<40).map { _ in
            try bench.client(Hello(author: "idle", interests: ["Tag"]))
        }
        while bench.engine.hasWork { try bench.turn() }
        let saved = try saver.save([try bench.bench.insert("Node", 1)])
        #expect(bench.engine.queues.following.isEmpty)
        #expect(idle.allSatisfy { $0.session.lagPosition == nil })
        #expect(idle.allSatisfy { $0.session.sent == saved.position })
        // The sessions learn the new resume position after a checkpoint.
        bench.engine.markProgress()
        while bench.engine.hasWork { try bench.turn() }
        for client in idle {
            try client.read()
            #expect(client.machine.cursor == saved.position)
            #expect(client.pushes.isEmpty)
        }
    }

    @Test func `law 7: tags without an entity are not followed`() throws {
        let bench = try EngineBench()
        let client = try bench.client()
        let tags = (0...EntityTag.max).map { $0 }
        for part in 0..<16 {
            let some = Array(tags[(part * 4_096)..<((part + 1) * 4_096)])
            _ = try client.fetch(
                Fetch(request: FetchDescriptor(entity: "Node"), kind: .count, interests: some))
        }
        #expect(client.session.interests.count == graphModel.entities.count)
        try client.save([try bench.bench.insert("Tag", 1)])
        #expect(client.pushes.count == 1)
    }

    private func encoded(_ bench: EngineBench) throws -> [EncodedTransaction] {
        try bench.bench.transactions().map { EncodedTransaction($0).withoutBlobs }
    }
}

/// A client that repeatedly drops and resumes its connection, and the transactions that it must
/// receive.
private final class Follower {
    private let bench: EngineBench
    private(set) var peer: Peer
    /// The followed tags, each with the position after which they are followed.
    private var log: [(after: UInt64, tags: Set<EntityTag>)] = []
    private var asked: [(id: UInt32, tag: EntityTag)] = []
    private var earlier: [EncodedTransaction] = []
    private let names: Set<String>
    private let start: UInt64

    static let entities = ["Node", "Tag", "Group", "Badge"]

    init(_ bench: EngineBench, _ random: inout SplitMix64) throws {
        self.bench = bench
        let count = Int.random(in: 0...3, using: &random)
        names = Set(Self.entities.shuffled(using: &random).prefix(count))
        start = bench.position.number
        peer = try bench.client(Hello(author: "f", interests: names.sorted()))
        log = [(start, Set(try names.map { try bench.bench.entity($0).tag }))]
    }

    /// Requests one more entity, without waiting for the answer.
    func widen(_ random: inout SplitMix64) throws {
        guard asked.count < 20, let name = Self.entities.randomElement(using: &random) else {
            return
        }
        let tag = try bench.bench.entity(name).tag
        let fetch = Fetch(
            request: FetchDescriptor(entity: name), kind: .count, interests: [tag])
        asked.append((try peer.send(.fetch(fetch)), tag))
    }

    func save(_ random: inout SplitMix64, _ number: inout UInt64) throws {
        var operations: [SaveOperation] = []
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            number += 1
            let name = Self.entities.randomElement(using: &random) ?? "Node"
            // Some values are so long that sockets fill up.
            let length = Int.random(in: 0..<4, using: &random) == 0 ? 60_000 : 10
            let text = PropertyValue.string(String(repeating: "x", count: length))
            let values: [String: PropertyValue] =
                switch name {
                case "Tag": ["label": text]
                case "Group": ["title": text]
                case "Badge": ["text": text]
                default: ["name": text]
                }
            operations.append(try bench.bench.insert(name, number, values))
        }
        if peer.machine.inFlightCount > 40 { try peer.read() }
        guard peer.machine.inFlightCount < 60 else { return }
        _ = try peer.send(.save(peer.saveRequest(operations)))
    }

    /// Drops the connection, and resumes after the last position.
    func comeBack(_ random: inout SplitMix64) throws {
        if Bool.random(using: &random) { try peer.read() }
        recordAnswers()
        earlier += peer.pushes.map(\.transaction)
        let cursor = bench.position.at(peer.machine.cursor)
        peer.socket.shutdown()
        let model = try peer.model
        let tags = log.reduce(into: Set<EntityTag>()) { $0.formUnion($1.tags) }
        let names = tags.compactMap { model.entity(tagged: $0)?.name }
        peer = try bench.client(Hello(author: "f", resume: cursor, interests: names.sorted()))
        #expect(peer.welcome?.resumed == true)
        asked = []
        // Entities whose request was not answered are not followed.
        log = log.filter { $0.after <= cursor.number }
        let known = log.reduce(into: Set<EntityTag>()) { $0.formUnion($1.tags) }
        #expect(known == tags)
    }

    /// Waits for all answers, and then syncs to the journal's end.
    func finish() throws {
        let end = bench.position.number
        while peer.machine.inFlightCount > 0 {
            try peer.read()
            try bench.turn()
            try bench.engine.serve(peer.session)
        }
        _ = try peer.ask(.sync(Sync(number: max(end, bench.position.number))))
        recordAnswers()
    }

    /// Records the answers that arrived: the requested entity is followed from the answer's
    /// position on.
    private func recordAnswers() {
        for (id, tag) in asked {
            guard let answer = peer.received.first(where: { $0.id == id }),
                case .fetched(let fetched) = answer.message
            else { continue }
            log.append((fetched.position, [tag]))
        }
        asked = []
    }

    var gets: [[UInt8]] { (earlier + peer.pushes.map(\.transaction)).map(\.bytes) }

    func expected(_ truth: [EncodedTransaction]) -> [[UInt8]] {
        truth.filter { $0.position > start }.compactMap { transaction in
            let position = transaction.position
            let tags = log.filter { $0.after < position }.reduce(into: Set<EntityTag>()) {
                $0.formUnion($1.tags)
            }
            return transaction.filtered { tags.contains($0) }?.bytes
        }
    }
}
