import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import TandemDaemon

/// Fetches by a unique value, which are answered immediately, with the same answer as any fetch.
@Suite(.ownThread) struct LookUpTests {
    private let bench: EngineBench
    private let saver: Peer
    private let asker: Peer

    init() throws {
        bench = try EngineBench()
        (saver, asker) = (try bench.client(), try bench.client())
        for number in UInt64(1)...4 { try save(number, "c\(number)") }
    }

    private func save(_ number: UInt64, _ code: String) throws {
        try saver.save([try bench.bench.insert("Node", number, ["code": .string(code)])])
    }

    private func fetch(_ format: String) throws -> Fetch {
        let predicate = try ObjectPredicate(format: format)
        return Fetch(request: FetchDescriptor(entity: "Node", predicate: predicate))
    }

    /// Returns whether a fetch is answered without being planned.
    private func isLookUp(_ fetch: Fetch) throws -> Bool {
        let answerer = Answerer(
            committer: bench.engine.committer, session: asker.session,
            journalMaintenance: bench.engine.journalMaintenance,
            smallReadWork: DaemonLimits.smallReadWork)
        return try answerer.lookUp(fetch) != nil
    }

    @Test func `a look-up has the same answer as a planned fetch for the same object`() throws {
        for code in ["c1", "c4", "c5", ""] {
            let (quick, planned) = (
                try fetch("code == '\(code)'"), try fetch("code == '\(code)' AND TRUEPREDICATE")
            )
            #expect(try isLookUp(quick) && !isLookUp(planned))
            let answer = try asker.fetch(quick)
            #expect(try answer == asker.fetch(planned))
            #expect(answer.position == bench.position.number)
            #expect(answer.count == (["c1", "c4"].contains(code) ? 1 : 0))
        }
    }

    @Test func `a request for more than current rows is not a look-up`() throws {
        let plain = try fetch("code == 'c1'")
        #expect(try isLookUp(plain))
        func isOther(_ change: (inout Fetch) -> Void) throws -> Bool {
            var other = plain
            change(&other)
            return try !isLookUp(other)
        }
        #expect(try isOther { $0.kind = .count })
        #expect(try isOther { $0.kind = .references })
        #expect(try isOther { $0.related = [["parent"]] })
        #expect(try isOther { $0.at = 1 })
        #expect(try isOther { $0.lease = 1 })
    }

    @Test func `law 2: earlier saves are pushed before the answer, and later ones after it`()
        throws
    {
        let node = try bench.bench.reference("Node", 1).tag
        var quick = try fetch("code == 'c1'")
        quick.interests = [node]
        let first = try asker.fetch(quick).position
        #expect(asker.pushes.isEmpty)
        try save(5, "c5")
        // The peer records a gap if the answer overtakes the push.
        let found = try asker.fetch(try fetch("code == 'c5'"))
        #expect(found.objects.map(\.object.number) == [5])
        #expect(asker.pushes.map(\.transaction.position) == [first + 1])
        #expect(found.position == first + 1)
    }

    @Test func `law 7: however many clients send look-ups, all are answered`() throws {
        var limits = DaemonLimits()
        limits.sliceReads = 1
        let bench = try EngineBench(limits: limits)
        let clients = try (0..<4).map { _ in try bench.client() }
        try clients[0].save([try bench.bench.insert("Node", 1, ["code": .string("c")])])
        let quick = ClientMessage.fetch(try fetch("code == 'c'"))
        let ids = try clients.map { try $0.send(quick) }
        for (client, id) in zip(clients, ids) {
            guard case .fetched(let answer) = try client.answer(id) else {
                Issue.record("no answer")
                continue
            }
            #expect(answer.count == 1)
        }
    }
}
