import Dispatch
import Synchronization
import TandemIO
import TandemModel
import TandemWire

let killModel = ManagedObjectModel {
    Entity("Note", uniqueness: [["key"]], indexes: [["rank"]]) {
        Attribute("key", .string)
        Attribute("rank", .int, default: .int(0))
        Relationship("next", to: "Note", inverse: "previous")
        Relationship("previous", to: "Note", inverse: "next", toMany: true)
    }
}

/// A client that saves as fast as it can until the daemon is killed.
///
/// When the daemon is back, the client retries its unanswered save.
final class Saver: Sendable {
    private struct State {
        var answered: [(id: [UInt8], position: UInt64)] = []
        var leases: [Lease] = []
        var problems: [String] = []
        var unanswered: SaveRequest?
        var saves: UInt64 = 0
        var last: ObjectReference?
    }

    let name: String
    private let place: Place
    private let state = Mutex(State())

    init(_ name: String, _ place: Place) {
        self.name = name
        self.place = place
    }

    var answered: [(id: [UInt8], position: UInt64)] { state.withLock { $0.answered } }
    var leases: [Lease] { state.withLock { $0.leases } }
    var problems: [String] { state.withLock { $0.problems } }

    /// Saves until the daemon is killed.
    func run(_ acknowledged: DispatchSemaphore) {
        defer { for _ in 0..<100 { acknowledged.signal() } }
        guard let client = connect() else { return }
        repeatUnanswered(client)
        var next = client.welcome.lease.first
        let end = next + UInt64(client.welcome.lease.count)
        while next < end, state.withLock({ $0.unanswered == nil }) {
            guard let request = request(client, number: next) else { return }
            next += 1
            state.withLock { $0.unanswered = request }
            send(request, client)
            if state.withLock({ $0.unanswered == nil }) { acknowledged.signal() }
        }
    }

    /// Retries the unanswered save after the last restart of the daemon.
    func settle() {
        guard let client = connect() else {
            return report("the daemon does not accept connections")
        }
        repeatUnanswered(client)
        if state.withLock({ $0.unanswered != nil }) { report("a save stays without an answer") }
        client.close()
    }

    private func connect() -> WireClient? {
        do {
            let client = try WireClient(
                place.socket, Hello(author: name, model: killModel.json.text))
            state.withLock { $0.leases.append(client.welcome.lease) }
            return client
        } catch {
            // Killed during the hello.
            return nil
        }
    }

    private func repeatUnanswered(_ client: WireClient) {
        guard let request = state.withLock({ $0.unanswered }) else { return }
        send(request, client)
        // Retry once more: the answer must be the same.
        guard let first = answered.last, state.withLock({ $0.unanswered == nil }) else { return }
        guard case .saved(let again)? = try? client.ask(.save(request)) else { return }
        if !again.isRepeat || again.position != first.position {
            report("a repeat was answered with \(again.position), not \(first.position)")
        }
    }

    private func send(_ request: SaveRequest, _ client: WireClient) {
        switch try? client.ask(.save(request)) {
        case .saved(let saved):
            state.withLock {
                $0.answered.append((request.saveID, saved.position))
                $0.last = saved.inserted.last ?? nil
                $0.unanswered = nil
            }
        case .failure(let error): report("\(error)")
        case nil: break
        case let other?: report("another answer: \(other)")
        }
    }

    private func request(_ client: WireClient, number: UInt64) -> SaveRequest? {
        guard let bytes = client.welcome.model else { return nil }
        var reader = ByteReader(bytes)
        guard let model = try? CompiledModel(from: &reader),
            let entity = model.entity(named: "Note"), let key = entity.slot(of: "key"),
            let nextSlot = entity.slot(of: "next"),
            let rank = entity.slot(of: "rank")
        else { return nil }
        let (count, last) = state.withLock {
            $0.saves += 1
            return ($0.saves, $0.last)
        }
        let object = ObjectReference(tag: entity.tag, number: number)
        var values = [SlotValue(slot: key, value: .string("\(name) \(count)"))]
        var operations: [SaveOperation] = []
        if let last {
            values.append(SlotValue(slot: nextSlot, value: .reference(last)))
            let value = SaveValue(slot: rank, value: .int(Int64(count)))
            operations.append(.update(object: last, baseVersion: 0, values: [value], links: []))
        }
        operations.append(.insert(object: object, values: values, links: []))
        let id = Array("\(name) \(count)".utf8)
        return SaveRequest(
            saveID: id, contentHash: StableHash(id), modelVersion: model.version,
            operations: operations)
    }

    private func report(_ problem: String) { state.withLock { $0.problems.append(problem) } }
}

/// A client that follows all notes across restarts of the daemon, and resumes at its position.
final class Listener: Sendable {
    private struct State {
        var pushed: [EncodedTransaction] = []
        var leases: [Lease] = []
        var cursor: Position?
        var problems: [String] = []
    }

    private let place: Place
    private let state = Mutex(State())

    init(_ place: Place) { self.place = place }

    var pushed: [EncodedTransaction] { state.withLock { $0.pushed } }
    var leases: [Lease] { state.withLock { $0.leases } }
    var problems: [String] { state.withLock { $0.problems } }

    /// Receives transactions until the daemon is killed.
    func run() { follow(until: nil) }

    /// Receives transactions until none is left.
    func finish() { follow(until: 0) }

    private func follow(until end: UInt64?) {
        do {
            var cursor = state.withLock { $0.cursor }
            let hello = Hello(
                author: "listener", model: killModel.json.text, resume: cursor,
                interests: ["Note"])
            let client = try WireClient(place.socket, hello)
            state.withLock {
                $0.leases.append(client.welcome.lease)
                if cursor != nil, !client.welcome.resumed { $0.problems.append("not resumed") }
                // The first connection has to request the transactions that others saved before it.
                if cursor == nil { $0.cursor = client.cursor.at(1) }
            }
            if cursor == nil {
                client.close()
                cursor = state.withLock { $0.cursor }
                return follow(until: end)
            }
            client.onPush = { push in
                self.state.withLock {
                    $0.pushed.append(push.transaction)
                    $0.cursor = $0.cursor?.at(push.transaction.position)
                }
            }
            if end != nil {
                _ = try client.ask(.sync(Sync()))
            } else {
                while true { _ = try client.receive() }
            }
        } catch let error as TandemError {
            state.withLock { $0.problems.append("\(error)") }
        } catch {
            // The daemon was killed.
        }
    }
}
