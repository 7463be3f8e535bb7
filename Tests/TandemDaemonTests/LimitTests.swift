import TandemIO
import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// Every configurable limit, reached with a small value.
@Suite(.ownThread) struct LimitTests {
    @Test(arguments: Limit.allCases)
    func `law 8: every limit has an error and a counter when it is reached`(
        _ limit: Limit
    ) throws {
        var limits = DaemonLimits()
        limits[limit] = limit.small
        if limit == .inboundBytes { limits.outboundBytes = 4_096 }
        let clock = ManualClock()
        let bench = try EngineBench(model: limitModel, clock: clock, limits: limits)
        let before = bench.engine.limitCounters[limit]
        let error = try reach(limit, bench, clock)
        #expect(error?.code == limit.code, "\(String(describing: error))")
        if let error, limit != .savesKept {
            #expect("\(error)".contains("limits.\(limit.rawValue)"), "\(error)")
        }
        let counted = bench.engine.status["limits"]?[limit.rawValue]
        #expect(counted?["value"]?.int == Int64(limit.small))
        #expect((counted?["reached"]?.int ?? 0) > Int64(before))
    }

    @Test func `an error for too long sort keys names no setting, because none helps`() {
        let counters = LimitCounters()
        let error = StoreError(.keysTooLong, "too long").clientError(DaemonLimits(), counters)
        #expect(error?.code == .limitExceeded)
        #expect(error?.message == "too long")
        #expect(Limit.allCases.allSatisfy { counters[$0] == 0 })
    }

    /// Exceeds a limit; returns the resulting error, if there is one.
    private func reach(
        _ limit: Limit, _ bench: EngineBench, _ clock: ManualClock
    ) throws -> TandemError? {
        switch limit {
        case .connections, .connectionsPerUser:
            let first = try bench.client()
            return try withExtendedLifetime(first) { try bench.refusal() }
        case .handshakeMilliseconds:
            let silent = try bench.peer()
            clock.advance(byNanoseconds: 11_000_000)
            bench.engine.expireHandshakes()
            return try end(of: silent)
        case .messageMilliseconds:
            let slow = try bench.client()
            try slow.write([1])
            try slow.carry()
            clock.advance(byNanoseconds: 11_000_000)
            bench.engine.expireHandshakes()
            return try end(of: slow)
        case .unfinishedBytes, .unfinishedBytesPerUser: return try unfinished(bench)
        case .frameBytes, .transactionBytes: return try tooLarge(bench)
        case .inboundBytes: return try unread(bench)
        case .requestsInFlight:
            let client = try bench.client()
            for id in UInt32(1)...3 { try client.write(.sync(Sync(number: 99)), id: id) }
            return failure(try client.answer(3))
        case .outboundBytes: return try behind(bench)
        default: return try reachByRequests(limit, bench, clock)
        }
    }

    private func reachByRequests(
        _ limit: Limit, _ bench: EngineBench, _ clock: ManualClock
    ) throws -> TandemError? {
        let client = try bench.client()
        let save = { (number: UInt64) in
            _ = try client.save([try bench.bench.insert("Tag", number, ["label": .string("label")])]
            )
        }
        switch limit {
        case .sortKeys, .comparisons, .constantBytes: return try tooExpensive(limit, client, bench)
        case .controllers:
            let items = Array(
                repeating: VerdictItem(request: FetchDescriptor(entity: "Tag")), count: 2)
            return failure(try client.ask(.verdicts(VerdictRequest(from: 1, items: items))))
        case .attributeBytes:
            let link = PropertyValue.url("x:" + String(repeating: "x", count: 300))
            return bench.failure { _ = try $0.save([try $0.insert("Tag", 1, ["link": link])]) }
        case .blobBytes:
            let scan = PropertyValue.data([UInt8](repeating: 1, count: limit.small + 1))
            return bench.failure { _ = try $0.save([try $0.insert("Tag", 1, ["scan": scan])]) }
        case .leaseNumbers:
            guard case .lease(let lease) = try client.ask(.lease(count: 4_096)) else { return nil }
            #expect(lease.count == 1)
        case .savesKept:
            for number in UInt64(1)...3 { try save(number) }
            let late = SaveRequest(
                saveID: [9], contentHash: StableHash([]), modelVersion: 1, operations: [],
                firstSentAt: 0)
            return failure(try client.ask(.save(late)))
        case .verdictTransactions:
            for number in UInt64(1)...3 { try save(number) }
            let item = VerdictItem(request: FetchDescriptor(entity: "Tag"))
            return failure(try client.ask(.verdicts(VerdictRequest(from: 1, items: [item]))))
        case .lookBackTransactions:
            for number in UInt64(1)...3 { try save(number) }
            let fetch = Fetch(
                request: FetchDescriptor(entity: "Tag"), at: bench.position.number - 2)
            return failure(try client.ask(.fetch(fetch)))
        case .pinsPerConnection:
            _ = try client.ask(.pin(PinRequest(lease: 1, position: bench.position.number)))
            return failure(
                try client.ask(.pin(PinRequest(lease: 2, position: bench.position.number))))
        case .pinSeconds:
            let position = bench.position.number
            _ = try client.ask(.pin(PinRequest(lease: 1, position: position)))
            clock.advance(byNanoseconds: 1_000_000_000)
            let fetch = Fetch(request: FetchDescriptor(entity: "Tag"), at: position, lease: 1)
            return failure(try client.ask(.fetch(fetch)))
        case .historyTransactions, .historyBytes:
            for number in UInt64(1)...100 { try save(number) }
            let answer = try client.ask(.history(HistoryRequest(from: 1, limit: 0)))
            guard case .history(let history) = answer else { return nil }
            #expect(!history.isComplete && history.transactions.count < 100)
        case .batchObjects:
            for number in UInt64(1)...2 { try save(number) }
            return failure(try client.ask(.batch(try bench.batch("Tag"))))
        case .batchesPerConnection, .batchesPerUser:
            let ids = try (UInt8(1)...2).map {
                try client.send(.batch(try bench.batch("Tag", id: [$0])))
            }
            return failure(try client.answer(ids[1]))
        case .objectReads, .requestReads:
            for number in UInt64(1)...3 {
                let parent = PropertyValue.reference(try bench.bench.reference("Tag", number - 1))
                let values = number > 1 ? ["parent": parent] : [:]
                try client.save([try bench.bench.insert("Tag", number, values)])
            }
            return failure(try client.ask(.fetch(Fetch(request: try related))))
        case .sliceReads:
            for number in UInt64(1)...100 { try save(number) }
            return failure(try client.ask(.history(HistoryRequest(from: 1, interests: [1_000]))))
        case .readBytes:
            // Fewer objects are answered immediately and not counted.
            for part in UInt64(0)..<3 {
                try client.save(
                    try (1...1_000).map { try bench.bench.insert("Tag", 1_000 * part + $0) })
            }
            return failure(try client.ask(.fetch(Fetch(request: FetchDescriptor(entity: "Tag")))))
        case .readerThreads, .storeReaders:
            try save(1)
            return try waiting(limit, bench)
        case .snapshotMilliseconds, .snapshotBytes:
            try save(1)
            return try outlasted(bench, clock)
        case .consumers:
            _ = try bench.bench.committer.register("one", at: 0)
            return bench.failure { _ = try $0.committer.register("two", at: 0) }
        case .consumersPerUser:
            _ = try bench.bench.committer.register("one", at: 0, owner: 7)
            _ = try bench.bench.committer.register("two", at: 0, owner: 8)
            return bench.failure { _ = try $0.committer.register("three", at: 0, owner: 8) }
        case .batchSaves, .ringTransactions: for number in UInt64(1)...2 { try save(number) }
        case .batchBytes, .ringBytes: for number in UInt64(1)...2 { try large(client, number) }
        default: try checkpoint(limit, bench, clock) { try large(client, $0) }
        }
        return nil
    }

    /// Returns the error for a request that exceeds a limit by one; every message with a request
    /// must give the same.
    private func tooExpensive(
        _ limit: Limit, _ client: Peer, _ bench: EngineBench
    ) throws -> TandemError? {
        var request = FetchDescriptor(entity: "Tag")
        switch limit {
        case .sortKeys: request.sort = [SortComponent("label"), SortComponent("link")]
        case .comparisons:
            request.predicate = try ObjectPredicate(format: "label == 'a' OR link == nil")
        default:
            request.predicate = try ObjectPredicate(
                format: "label CONTAINS %@",
                arguments: [.value(.string(String(repeating: "x", count: limit.small + 1)))])
        }
        var batch = try bench.batch("Tag")
        batch.request = request
        let item = VerdictItem(request: request)
        let errors = try [
            .fetch(Fetch(request: request)), .explain(Fetch(request: request)), .batch(batch),
            .verdicts(VerdictRequest(from: bench.position.number, items: [item])),
        ].map { failure(try client.ask($0)) }
        #expect(Set(errors.map { $0?.message }).count == 1)
        return errors.first ?? nil
    }

    /// A request that reads two related objects per object.
    private var related: FetchDescriptor {
        get throws {
            let predicate = try ObjectPredicate(format: "parent.parent.label != nil")
            return FetchDescriptor(entity: "Tag", predicate: predicate)
        }
    }

    @Test
    func `law 8: members that are only counted cost an eighth of members that are read`()
        throws
    {
        var limits = DaemonLimits()
        limits.objectReads = 20
        let bench = try EngineBench(model: limitModel, limits: limits)
        let client = try bench.client()
        try client.save([try bench.bench.insert("Tag", 1)])
        let parent = PropertyValue.reference(try bench.bench.reference("Tag", 1))
        let from = bench.position.number
        try client.save(
            try (UInt64(2)...101).map { try bench.bench.insert("Tag", $0, ["parent": parent]) })
        func code(_ format: String) throws -> [TandemError.Code?] {
            let predicate = try ObjectPredicate(format: format)
            let request = FetchDescriptor(entity: "Tag", predicate: predicate)
            let item = VerdictItem(request: request)
            return [
                failure(try client.ask(.fetch(Fetch(request: request))))?.code,
                failure(try client.ask(.verdicts(VerdictRequest(from: from, items: [item]))))?.code,
            ]
        }
        #expect(try code("children.@count > 50") == [nil, nil])
        #expect(try code("ANY children.label = 'x'") == [.limitExceeded, .limitExceeded])
        #expect(bench.engine.limitCounters[.objectReads] == 2)
    }

    private func checkpoint(
        _ limit: Limit, _ bench: EngineBench, _ clock: ManualClock,
        _ save: (UInt64) throws -> Void
    ) throws {
        let committer = bench.bench.committer
        let pages = limit == .checkpointPages
        for number in UInt64(1)...(pages ? 40 : 1) { try save(number) }
        let before = committer.counters.checkpoints.count
        if !pages { clock.advance(byNanoseconds: 2_000_000) }
        _ = try committer.checkpointIfDue()
        #expect(committer.counters.checkpoints.count == before + 1)
    }

    // MARK: Large requests

    private func large(_ client: Peer, _ number: UInt64) throws {
        let text = PropertyValue.string(String(repeating: "x", count: 10_000))
        let model = try client.model
        let entity = try #require(model.entity(named: "Tag"))
        let slot = try #require(entity.slot(of: "label"))
        try client.save([
            .insert(
                object: ObjectReference(tag: entity.tag, number: number),
                values: [SlotValue(slot: slot, value: text)], links: [])
        ])
    }

    /// Sends a fetch of 180 KiB in one frame.
    private func tooLarge(_ bench: EngineBench) throws -> TandemError? {
        let client = try bench.client()
        let path = [String](repeating: String(repeating: "x", count: 1_000), count: 60)
        let paths = [[String]](repeating: path, count: 3)
        let fetch = Fetch(request: FetchDescriptor(entity: "Tag"), related: paths)
        var bytes: [UInt8] = []
        try FrameEncoder.encode(ClientMessage.fetch(fetch), id: 1, into: &bytes)
        try client.write(bytes)
        return try end(of: client)
    }

    /// Sends the beginnings of large saves on two connections, which together exceed the limit.
    private func unfinished(_ bench: EngineBench) throws -> TandemError? {
        let clients = [try bench.client(), try bench.client()]
        let text = PropertyValue.string(String(repeating: "x", count: 10_000))
        let save = clients[0].saveRequest([try bench.bench.insert("Tag", 1, ["label": text])])
        var bytes: [UInt8] = []
        try FrameEncoder.encode(ClientMessage.save(save), id: 1, into: &bytes)
        for client in clients {
            try client.write(Array(bytes[..<3_000]))
            try client.carry()
        }
        #expect(!clients[0].session.isClosing)
        let error = try end(of: clients[1])
        // The memory of the second connection is free again.
        #expect(bench.engine.admission.unfinished.bytes == 3_000 - Frame.headerBytes)
        try clients[0].write(Array(bytes[3_000...]))
        guard case .saved = try clients[0].answer(1) else {
            Issue.record("the first save was refused")
            return nil
        }
        #expect(bench.engine.admission.unfinished.bytes == 0)
        #expect(bench.engine.admission.unfinished.bytes(of: clients[0].session.peer.uid) == 0)
        return error
    }

    /// Requests answers without reading them until the outbound buffer is full; further requests
    /// have to wait.
    private func unread(_ bench: EngineBench) throws -> TandemError? {
        let saver = try bench.client()
        for number in UInt64(1)...50 { try large(saver, number) }
        let client = try bench.client()
        for id in UInt32(1)...4 { try client.write(.history(HistoryRequest(from: 1)), id: id) }
        try bench.turn()
        #expect(!client.session.hasRoom && !client.session.isClosing)
        let path = [String(repeating: "x", count: 5_000)]
        let fetch = Fetch(request: FetchDescriptor(entity: "Tag"), related: [path])
        try client.write(.fetch(fetch), id: 5)
        try client.carry()
        #expect(client.session.isClosing)
        let line = bench.log.lines.last { $0.contains("connection-dropped") }
        return TandemError(.limitExceeded, line ?? "")
    }

    private func behind(_ bench: EngineBench) throws -> TandemError? {
        let slow = try bench.client(Hello(author: "slow", interests: ["Tag"]))
        let saver = try bench.client()
        for number in UInt64(1)...100 { try large(saver, number) }
        #expect(slow.session.sent < bench.position.number && !slow.session.isClosing)
        return nil
    }

    /// Sends a read that waits until others have released the readers or the read transactions.
    private func waiting(_ limit: Limit, _ bench: EngineBench) throws -> TandemError? {
        bench.engine.reads.smallReadWork = 0
        if limit == .storeReaders { (bench.engine.reads.readers as? ReadsInTurns)?.capacity = 9 }
        bench.holdReaders(true)
        let fetch = ClientMessage.fetch(Fetch(request: FetchDescriptor(entity: "Tag")))
        let clients = try (0..<3).map { _ in try bench.client() }
        for client in clients {
            _ = try client.send(fetch)
            for _ in 0..<3 { try bench.turn() }
        }
        #expect(bench.engine.reads.running.count == 2 && bench.engine.reads.waiting.count == 1)
        bench.holdReaders(false)
        for client in clients { #expect(try client.answer(1).fetched.count == 1) }
        return nil
    }

    /// Runs a read that takes too long while others commit a lot.
    private func outlasted(_ bench: EngineBench, _ clock: ManualClock) throws -> TandemError? {
        bench.engine.reads.smallReadWork = 0
        bench.holdReaders(true)
        let (client, saver) = (try bench.client(), try bench.client())
        let id = try client.send(.fetch(Fetch(request: FetchDescriptor(entity: "Tag"))))
        try bench.turnsUntilRead(client)
        clock.advance(byNanoseconds: 11_000_000)
        try saver.save(
            try (UInt64(2)...2_000).map {
                try bench.bench.insert("Tag", $0, ["label": .string("label \($0)")])
            })
        try bench.bench.committer.checkpoint()
        try bench.turn()
        bench.holdReaders(false)
        return failure(try client.answer(id))
    }

    /// Returns the failure that the daemon sent before it closed a connection.
    private func end(of client: Peer) throws -> TandemError? {
        try client.carry()
        try client.read()
        #expect(client.session.isClosing)
        return client.failure
    }

    private func failure(_ message: DaemonMessage) -> TandemError? {
        if case .failure(let error) = message { error } else { nil }
    }
}

extension EngineBench {
    /// Returns the error that `body` throws, or nil.
    fileprivate func failure(_ body: (CommitBench) throws -> Void) -> TandemError? {
        do {
            try body(bench)
            return nil
        } catch {
            return error as? TandemError
        }
    }
}

/// A model with texts and data, and relationships.
private let limitModel = ManagedObjectModel {
    Entity("Tag") {
        Attribute("label", .string)
        Attribute("link", .url)
        Attribute("scan", .data)
        Relationship("parent", to: "Tag", inverse: "children")
        Relationship("children", to: "Tag", inverse: "parent", toMany: true)
    }
}

extension Limit {
    /// A value small enough for a test to reach quickly.
    fileprivate var small: Int {
        switch self {
        case .requestsInFlight: 2
        case .handshakeMilliseconds, .messageMilliseconds: 10
        case .attributeBytes, .constantBytes: 256
        case .blobBytes, .transactionBytes: 64 << 10
        case .frameBytes, .inboundBytes, .outboundBytes, .historyBytes, .batchBytes, .ringBytes,
            .readBytes, .unfinishedBytes, .unfinishedBytesPerUser:
            4_096
        case .checkpointPages: 16
        case .snapshotMilliseconds: 10
        case .snapshotBytes: 64 << 10
        case .storeReaders: 2
        default: 1
        }
    }

    /// The expected error, or nil if the daemon reacts without one.
    fileprivate var code: TandemError.Code? {
        switch self {
        case .connections, .connectionsPerUser, .frameBytes, .requestsInFlight, .inboundBytes,
            .controllers, .transactionBytes, .consumers, .readBytes, .batchObjects, .objectReads,
            .requestReads,
            .lookBackTransactions, .pinsPerConnection, .batchesPerConnection, .batchesPerUser,
            .unfinishedBytes, .unfinishedBytesPerUser, .consumersPerUser,
            .sortKeys, .comparisons, .constantBytes:
            .limitExceeded
        case .handshakeMilliseconds, .messageMilliseconds, .snapshotMilliseconds, .snapshotBytes:
            .timeout
        case .attributeBytes, .blobBytes: .validation
        case .savesKept: .unknownOutcome
        case .verdictTransactions, .pinSeconds: .historyExpired
        default: nil
        }
    }
}
