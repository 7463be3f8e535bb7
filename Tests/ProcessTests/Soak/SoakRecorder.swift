import TandemIO
import TandemModel
import TandemWire

/// A recorder of all transactions across restarts of the daemon, with which the clients' records
/// are compared.
final class SoakRecorder: Sendable {
    private struct State {
        var transactions: [EncodedTransaction]
        var bytes = 0
        var cursor: Position?
    }

    private let traffic: SoakTraffic
    private let state: Locked<State>

    /// Creates a recorder that continues after the given transactions.
    init(_ beginning: [EncodedTransaction], _ traffic: SoakTraffic) {
        self.traffic = traffic
        state = Locked(State(transactions: beginning))
    }

    /// All transactions so far; the first one has position 1.
    var transactions: [EncodedTransaction] { state.withLock { $0.transactions } }
    var end: UInt64 { state.withLock { UInt64($0.transactions.count) } }
    /// The bytes of all transactions that were received.
    var bytes: Int { state.withLock { $0.bytes } }

    /// Follows the journal until the end of the soak, across restarts of the daemon.
    func run() {
        repeat { follow(toEnd: false) } while !traffic.ends(within: 20)
    }

    /// Receives the remaining transactions from a daemon that no client saves to any more.
    func finish() { follow(toEnd: true) }

    private func follow(toEnd: Bool) {
        do {
            let client = try connect()
            client.onPush = { push in self.accept(push.transaction) }
            if toEnd { _ = try client.ask(.sync(Sync())) }
            while !toEnd { _ = try client.receive() }
        } catch let error as TandemError {
            traffic.report("the recorder: \(error)")
        } catch {
            if toEnd { traffic.report("the recorder: \(error)") }
            // Otherwise the daemon has ended, and another one will start.
        }
    }

    private func connect() throws -> WireClient {
        let cursor = state.withLock { $0.cursor }
        if let cursor {
            let hello = Hello(
                author: "recorder", resume: cursor, interests: ["Bucket", "Item", "Tag"])
            let client = try WireClient(traffic.place.socket, hello)
            if !client.welcome.resumed { traffic.report("law 2: the recorder is not resumed") }
            return client
        }
        // Starting after a position requires a cursor, which another connection provides.
        let first = try WireClient(traffic.place.socket, Hello(author: "recorder"))
        let begin = first.cursor.at(end)
        first.close()
        state.withLock { $0.cursor = begin }
        return try connect()
    }

    private func accept(_ transaction: EncodedTransaction) {
        state.withLock { state in
            if transaction.position != UInt64(state.transactions.count) + 1 {
                traffic.report(
                    "law 2: \(transaction.position) comes after \(state.transactions.count)")
            }
            state.transactions.append(transaction)
            state.bytes += transaction.bytes.count
            state.cursor = state.cursor?.at(transaction.position)
        }
    }
}
