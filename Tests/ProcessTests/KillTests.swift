import Dispatch
import FoundationEssentials
import Glibc
import Synchronization
import TandemIO
import TandemJournal
import TandemModel
import TandemStore
import TandemWire
import TestSupport
import Testing

@Suite(.ownThread, .serialized) struct KillTests {
    @Test func `laws 1 to 3: kills lose nothing, repeat nothing, leave no gap`() throws {
        var random = SplitMix64(seed: seed)
        let place = try Place()
        let savers = [Saver("one", place), Saver("two", place)]
        let listener = Listener(place)
        for round in 0..<Volume.of(16, deep: 50) {
            let daemon = try place.serve()
            let acknowledged = DispatchSemaphore(value: 0)
            let threads =
                try savers.map { saver in
                    try KernelThread.start(name: saver.name) { saver.run(acknowledged) }
                } + [try KernelThread.start(name: "listener") { listener.run() }]
            for _ in 0..<Int.random(in: 1...40, using: &random) { acknowledged.wait() }
            #expect(daemon.end(SIGKILL) == -SIGKILL)
            for thread in threads { thread.join() }
            for problem in savers.flatMap(\.problems) + listener.problems {
                Issue.record("seed \(seed) round \(round): \(problem)")
            }
        }
        let daemon = try place.serve()
        for saver in savers { saver.settle() }
        listener.finish()
        #expect(daemon.end(SIGTERM) == 0)
        try check(try Journaled(place), savers, listener)
    }

    private func check(_ journal: Journaled, _ savers: [Saver], _ listener: Listener) throws {
        let transactions = journal.transactions
        #expect(transactions.map(\.position) == Array(1...UInt64(transactions.count)))
        // No save occurs twice, and every acknowledged save is at the position of its answer.
        var positions: [[UInt8]: UInt64] = [:]
        var numbers: Set<UInt64> = []
        for transaction in transactions {
            if !transaction.saveID.isEmpty {
                #expect(
                    positions.updateValue(transaction.position, forKey: transaction.saveID) == nil,
                    "the save at \(transaction.position) occurs twice")
            }
            for object in transaction.insertedObjects {
                #expect(numbers.insert(object.number).inserted, "\(object.number) twice")
            }
        }
        let answered = savers.flatMap(\.answered)
        #expect(answered.count > 50)
        for (id, position) in answered {
            #expect(positions[id] == position, "the save answered with \(position)")
        }
        #expect(
            positions.count == answered.count, "every save in the journal was answered in the end")
        // The pushed transactions equal the journalled ones, each position once.
        #expect(listener.pushed.count >= transactions.count - 1)
        for push in listener.pushed {
            #expect(journal.encoded[Int(push.position) - 1] == push, "push \(push.position)")
        }
        #expect(listener.pushed.map(\.position) == Array(2...UInt64(transactions.count)))
        // No object number was leased to two clients.
        let leases = (savers.flatMap(\.leases) + listener.leases).sorted { $0.first < $1.first }
        for (a, b) in zip(leases, leases.dropFirst()) {
            #expect(a.first + UInt64(a.count) <= b.first, "lease at \(b.first)")
        }
        #expect(try journal.storeDump() == journal.replayedDump())
    }

    @Test
    func `law 6: after a kill the store with the journal's tail equals a full replay`()
        throws
    {
        let place = try Place()
        let saver = Saver("one", place)
        let daemon = try place.serve()
        let acknowledged = DispatchSemaphore(value: 0)
        let thread = try KernelThread.start(name: "saver") { saver.run(acknowledged) }
        for _ in 0..<300 { acknowledged.wait() }
        daemon.end(SIGKILL)
        thread.join()
        let journal = try Journaled(place)
        #expect(journal.transactions.count >= 301)
        #expect(try journal.storeDump() == journal.replayedDump())
    }

    @Test func `a second daemon on the same store is refused and the first continues`() throws {
        let place = try Place()
        let daemon = try place.serve()
        for socket in [place.socket, place.socket + "2"] {
            let second = try DaemonProcess("tandemd", ["--store", place.store, "--socket", socket])
            let output = second.readOutput()
            #expect(second.wait() == 1)
            #expect(output.contains(place.store), "\(output)")
        }
        let otherStore = try DaemonProcess(
            "tandemd", ["--store", place.store + "2", "--socket", place.socket])
        #expect(otherStore.readOutput().contains(place.socket))
        #expect(otherStore.wait() == 1)
        _ = try WireClient(place.socket, Hello())
        #expect(daemon.end(SIGTERM) == 0)
    }

    @Test func `law 7: more connections than descriptors are refused, and the daemon continues`()
        throws
    {
        let place = try Place()
        let daemon = try DaemonProcess.serving(
            store: place.store, socket: place.socket, limits: "ulimit -n 40")
        let first = try WireClient(place.socket, Hello(model: killModel.json.text))
        let crowd = try (0..<60).map { _ in try Socket.connect(path: place.socket) }
        guard case .synced = try first.ask(.sync(Sync())) else {
            Issue.record("the daemon no longer answers")
            return
        }
        for socket in crowd { socket.shutdown() }
        var isWelcome = false
        // Descriptors become free when the daemon notices; requests make it run its loop.
        for _ in 0..<200 where !isWelcome {
            _ = try first.ask(.sync(Sync()))
            isWelcome = (try? WireClient(place.socket, Hello())) != nil
        }
        #expect(isWelcome)
        #expect(daemon.end(SIGTERM) == 0)
    }
}

/// The journal and store of a daemon that has ended.
struct Journaled {
    let place: Place
    let encoded: [EncodedTransaction]
    let transactions: [Transaction]

    init(_ place: Place, segmentBytes: Int = 1 << 20) throws {
        self.place = place
        var options = JournalOptions()
        options.segmentBytes = segmentBytes
        let (journal, _) = try Journal.open(
            directory: place.store + "/journal", fileSystem: RealFileSystem(), options: options,
            identityIfNew: LogIdentity(high: 0, low: 0), appliedPosition: nil)
        defer { try? journal.close() }
        let cursor = try journal.read(from: journal.bounds.first)
        var encoded: [EncodedTransaction] = []
        while let entry = try cursor.next() {
            encoded.append(try EncodedTransaction(bytes: entry.payload))
        }
        self.encoded = encoded
        transactions = try encoded.map { try $0.decoded() }
    }

    private func open(_ path: String) throws -> Store {
        try Store.open(
            path: path, newIdentity: StoreIdentity(log: LogID(high: 0, low: 0), epoch: 1))
    }

    private func dump(_ store: Store) throws -> [String] {
        for transaction in encoded.dropFirst(Int(store.appliedPosition)) {
            try store.apply(transaction)
        }
        var lines: [String] = []
        try store.dump { lines.append($0) }
        store.close()
        return lines
    }

    /// Returns the store's dump after the journal's tail was applied to the store.
    func storeDump() throws -> [String] { try dump(try open(place.store + "/store")) }

    /// Returns the dump of a new store to which the whole journal was applied.
    func replayedDump() throws -> [String] {
        let path = place.path + "/replayed"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return try dump(try open(path))
    }
}
