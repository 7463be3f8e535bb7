import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

@Suite(.ownThread) struct HostileTests {
    /// Returns the byte sequences that must close a connection, sent before or after the welcome.
    private func attacks() throws -> [(name: String, bytes: [UInt8])] {
        var hello: [UInt8] = []
        try FrameEncoder.encode(ClientMessage.hello(Hello()), into: &hello)
        var newer: [UInt8] = []
        try FrameEncoder.encode(
            ClientMessage.hello(Hello(protocolVersion: 99)), into: &newer)
        var status: [UInt8] = []
        try FrameEncoder.encode(ClientMessage.status, id: 7, into: &status)
        var large = status
        large.replaceSubrange(0..<4, with: [0xff, 0xff, 0xff, 0x7f])
        var unknown = status
        unknown[4] = 200
        var daemons: [UInt8] = []
        try FrameEncoder.encode(DaemonMessage.synced(position: 1), id: 3, into: &daemons)
        var short: [UInt8] = []
        try FrameEncoder.encode(
            ClientMessage.read(Read(objects: [ObjectReference(tag: 1, number: 1)])), id: 9,
            into: &short)
        // A count larger than the rest of the message.
        short[Frame.headerBytes] = 0x7f
        return [
            ("two hellos", hello + hello), ("newer protocol", newer), ("huge frame", large),
            ("unknown type", unknown), ("message of a daemon", daemons),
            ("count beyond the end", short), ("same id twice", hello + status + status),
            ("request before hello", status),
        ]
    }

    @Test
    func `law 7: a connection that breaks the protocol is closed with a reason, and no other is`()
        throws
    {
        let bench = try EngineBench()
        let honest = try bench.client(Hello(author: "honest", interests: ["Node"]))
        var number: UInt64 = 1
        for (name, bytes) in try attacks() {
            for isWelcomed in [false, true] {
                // After the welcome, a single status request is allowed; before it, no request is.
                if isWelcomed, name == "request before hello" { continue }
                let before = bench.dropped
                let peer = isWelcomed ? try bench.client() : try bench.peer()
                try peer.write(bytes)
                try bench.turn()
                try peer.read()
                #expect(peer.isClosed, "\(name) \(isWelcomed)")
                #expect(bench.dropped > before, "\(name) \(isWelcomed)")
                #expect(bench.engine.admission.sessions[peer.session.id] == nil, "\(name)")
                try honest.save([try bench.bench.insert("Node", number)])
                number += 1
            }
        }
        #expect(honest.pushes.count == Int(number) - 1)
    }

    @Test func `law 8: names of authors and contexts have at most 256 bytes`() throws {
        let bench = try EngineBench()
        // Two bytes per character: bytes are counted, not characters.
        let (fits, long) = (String(repeating: "é", count: 128), String(repeating: "é", count: 129))
        let peer = try bench.peer()
        try peer.write(.hello(Hello(author: long)), id: 0)
        try bench.turn()
        try peer.read()
        #expect(peer.isClosed && peer.failure?.code == .usage)
        #expect(
            peer.failure?.message.contains("author has 258 bytes, more than the maximum of 256")
                == true)
        let client = try bench.client(Hello(author: fits))
        var save = client.saveRequest([try bench.bench.insert("Node", 1)])
        let before = bench.position
        for (author, context) in [(long, ""), ("", long)] {
            save.author = author
            save.context = context
            let batch = Batch(
                batchID: [1], contentHash: StableHash([]), author: author, context: context,
                modelVersion: 1, request: FetchDescriptor(entity: "Node"), work: .delete)
            let insert = BatchInsert(
                batchID: [2], author: author, context: context, modelVersion: 1, entity: 1,
                first: 0, before: StableHash([]), rows: [], isLast: true)
            for message in [ClientMessage.save(save), .batch(batch), .insert(insert)] {
                guard case .failure(let error) = try client.ask(message) else {
                    Issue.record("\(message.title) with a name of 258 bytes was accepted")
                    return
                }
                #expect(error.code == .usage && error.message.contains("has 258 bytes"))
            }
        }
        #expect(bench.position == before)
        (save.author, save.context) = (fits, fits)
        guard case .saved(let saved) = try client.ask(.save(save)) else {
            Issue.record("a name of 256 bytes was refused")
            return
        }
        #expect(saved.wrote)
    }

    @Test func `law 7: random bytes end at most their connection, never the daemon`() throws {
        let bench = try EngineBench()
        var random = SplitMix64(seed: seed)
        let honest = try bench.client()
        for round in 0..<300 {
            let peer = round % 2 == 0 ? try bench.client() : try bench.peer()
            let count = Int.random(in: 1...300, using: &random)
            var bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            // Usually a nearly correct header, so that payloads are decoded too.
            if round % 3 > 0, count > Frame.headerBytes {
                var frame: [UInt8] = []
                try FrameEncoder.encode(ClientMessage.status, id: UInt32(round) + 1, into: &frame)
                let length = UInt32(count - Frame.headerBytes)
                withUnsafeBytes(of: length.littleEndian) {
                    frame.replaceSubrange(0..<4, with: $0)
                }
                frame[4] = ClientMessage.Kind.allCases.randomElement(using: &random)?.rawValue ?? 0
                bytes.replaceSubrange(0..<Frame.headerBytes, with: frame[..<Frame.headerBytes])
            }
            try peer.write(bytes)
            try bench.turn()
        }
        try honest.save([try bench.bench.insert("Node", 1)])
        #expect(bench.position.number == 2, "seed \(seed)")
    }

    @Test func `law 7: requests with flipped bytes are refused or harmless`() throws {
        let bench = try EngineBench()
        var random = SplitMix64(seed: seed &+ 1)
        let honest = try bench.client()
        try honest.save([
            try bench.bench.insert("Node", 1), try bench.bench.insert("Tag", 2),
            try bench.bench.insert("Group", 3),
        ])
        var kinds: Set<ClientMessage.Kind> = []
        for round in UInt64(0)..<Volume.of(300, deep: 900) {
            let peer = try bench.client()
            let messages = try requests(of: peer, bench, round)
            var bytes: [UInt8] = []
            let message = messages[Int(round) % messages.count]
            kinds.insert(message.kind)
            let id = message.kind == .hello ? 0 : UInt32(round) + 1
            try FrameEncoder.encode(message, id: id, into: &bytes)
            // A status request has no payload to flip.
            let flips = bytes.count > Frame.headerBytes ? Int.random(in: 1...3, using: &random) : 0
            for _ in 0..<flips {
                let at = Int.random(in: Frame.headerBytes..<bytes.count, using: &random)
                bytes[at] = UInt8.random(in: 0...255, using: &random)
            }
            try peer.write(bytes)
            for _ in 0..<3 { try bench.turn() }
            try peer.read()
            // Some clients disconnect while their request runs.
            if round % 2 == 0 { peer.socket.shutdown() }
        }
        #expect(kinds == Set(ClientMessage.Kind.allCases))
        // The store still equals its journal's state.
        let expected = try dump(bench.bench.store)
        try bench.crash()
        #expect(try dump(bench.bench.store) == expected, "seed \(seed)")
    }

    /// Returns one message of every kind, some of them in several forms.
    private func requests(
        of peer: Peer, _ bench: EngineBench, _ round: UInt64
    ) throws -> [ClientMessage] {
        let node = try bench.bench.reference("Node", 1)
        let position = bench.position
        let any = FetchDescriptor(entity: "Node")
        let some = FetchDescriptor(
            entity: "Node", predicate: try ObjectPredicate(format: "ANY tags.label == 'x'"),
            sort: [SortComponent("name")])
        let number = UInt8(truncatingIfNeeded: round)
        return [
            .save(try save(of: peer, bench, round)),
            .read(
                Read(
                    objects: [node], members: [MemberRequest(owner: node, slot: 5)],
                    modelVersion: 1)),
            .read(Read(objects: [node], modelVersion: 1, at: position.number, lease: 1)),
            .fetch(Fetch(request: some, related: [["group"]])),
            .fetch(Fetch(request: any, at: position.number - 1)),
            .history(HistoryRequest(from: 1, interests: [node.tag])),
            .history(
                HistoryRequest(
                    from: 1,
                    condition: HistoryCondition(
                        objects: [node],
                        properties: [ObservedProperty(entity: node.tag, slot: 1)],
                        modelVersion: 1))),
            .verdicts(VerdictRequest(from: 2, items: [VerdictItem(request: any)])),
            .hello(Hello()), .sync(Sync(number: position.number + 1)), .lease(count: 7),
            .schema(SchemaRequest(model: nil)), .status,
            .blob(BlobReference(of: [UInt8](repeating: 1, count: 70_000))),
            .explain(Fetch(request: FetchDescriptor(entity: "Node"))), .cancel,
            .reload, .disconnect(client: peer.session.id &+ 1),
            .consumer(ConsumerRequest(name: "c\(number % 3)", action: .register(at: position))),
            .consumer(ConsumerRequest(name: "c\(number % 3)", action: .acknowledge(position))),
            .batch(
                try bench.batch(
                    "Node", "rank < 50", set: ["rank": .int(Int64(number) % 90)], id: [number])),
            .batch(try bench.batch("Leaf", "name == 'gone'", id: [number, 1])),
            .pin(PinRequest(lease: 1, position: position.number)),
            .vacuum(
                VacuumRequest(keepBytes: 0, before: position.number, isForced: number % 2 == 0)),
            .insert(
                try bench.part(
                    "Node", 0..<3, from: try #require(peer.welcome?.lease).first + 100,
                    isLast: true,
                    id: [number, 2]
                ) { ["rank": .int(Int64($0)), "name": .string("row")] }),
        ]
    }

    private func save(
        of peer: Peer, _ bench: EngineBench, _ round: UInt64
    ) throws -> SaveRequest {
        let lease = try #require(peer.welcome?.lease)
        let node = try bench.bench.reference("Node", 1)
        let insert = try bench.bench.insert(
            "Node", lease.first, ["name": .string("abc"), "spouse": .reference(node)],
            links: ["tags": [try bench.bench.reference("Tag", 2)]])
        let update = try bench.bench.update("Node", 1, ["rank": .int(Int64(round % 90))])
        return peer.saveRequest([insert, update])
    }

    @Test func `law 7: a client that does not read costs others nothing and catches up later`()
        throws
    {
        let bench = try EngineBench()
        let slow = try bench.client(Hello(author: "slow", interests: ["Node"]))
        let quick = try bench.client(Hello(author: "quick", interests: ["Node"]))
        let text = PropertyValue.string(String(repeating: "x", count: 30_000))
        for number in UInt64(1)...200 {
            try quick.save([try bench.bench.insert("Node", number, ["name": text])])
            #expect(slow.session.outboundBytes < DaemonLimits().outboundBytes + (64 << 10))
        }
        #expect(quick.pushes.count == 200)
        #expect(slow.session.sent < bench.position.number)
        #expect(bench.engine.status.text.contains("slow"))
        while slow.pushes.count < 200 {
            let before = slow.pushes.count
            try slow.read()
            try bench.engine.serve(slow.session)
            try slow.read()
            guard slow.pushes.count > before else { break }
        }
        #expect(slow.pushes.map(\.transaction.position) == Array(2...201))
    }

    @Test func `law 8: a client that never reads is closed before its answers fill the memory`()
        throws
    {
        let bench = try EngineBench()
        let greedy = try bench.client()
        var bytes: [UInt8] = []
        for id in UInt32(1)...4_000 {
            try FrameEncoder.encode(ClientMessage.status, id: id, into: &bytes)
        }
        for round in 0..<20 where !greedy.session.isClosing {
            var batch = bytes
            // Each round uses new ids.
            for index in 0..<4_000 {
                let id = UInt32(round * 4_000 + index + 1)
                let at = index * Frame.headerBytes + Frame.headerBytes - 4
                withUnsafeBytes(of: id.littleEndian) {
                    batch.replaceSubrange(at..<(at + 4), with: $0)
                }
            }
            try greedy.write(batch)
            try bench.turn()
            #expect(greedy.session.outboundBytes < 8 << 20)
        }
        #expect(greedy.session.isClosing)
        #expect(bench.log.lines.contains { $0.contains("connection-dropped") })
    }

    @Test func `law 8: more requests in flight than allowed are refused one by one`() throws {
        let bench = try EngineBench()
        let client = try bench.client()
        for id in UInt32(1)...80 {
            try client.write(.sync(Sync(number: 1_000)), id: id)
        }
        try bench.turn()
        try client.read()
        let refused = client.received.filter {
            if case .failure(let error) = $0.message { error.code == .limitExceeded } else { false }
        }
        #expect(refused.count == 80 - WireLimits.requestsInFlight)
        #expect(!client.isClosed)
    }

    @Test
    func `laws 7 and 8: no answer to a small request is larger than fetches may hold`()
        throws
    {
        var limits = DaemonLimits()
        limits.readBytes = 64 << 10
        let bench = try EngineBench(limits: limits)
        let client = try bench.client()
        try client.save([try bench.bench.insert("Group", 1)])
        let group = try bench.bench.reference("Group", 1)
        let text = PropertyValue.string(String(repeating: "x", count: 18_000))
        let from = bench.position.number
        try client.save(
            [try bench.bench.insert("Node", 2, ["name": text])]
                + (UInt64(3)..<103).map {
                    try bench.bench.insert("Node", $0, ["group": .reference(group)])
                })
        func code(_ message: ClientMessage) throws -> TandemError.Code? {
            guard case .failure(let error) = try client.ask(message) else { return nil }
            return error.code
        }
        func read(_ count: Int, members: Int = 0) throws -> TandemError.Code? {
            let node = try bench.bench.reference("Node", 2)
            let slot = try #require(try bench.bench.entity("Group").slot(of: "nodes"))
            let member = MemberRequest(owner: group, slot: slot)
            return try code(
                .read(
                    Read(
                        objects: Array(repeating: node, count: count),
                        members: Array(repeating: member, count: members),
                        modelVersion: try bench.bench.model.version)))
        }
        #expect(try read(3, members: 1) == nil)
        #expect(try read(4) == .limitExceeded)
        #expect(try read(0, members: 50) == .limitExceeded)
        let predicate = try ObjectPredicate(format: "name != nil")
        let item = VerdictItem(request: FetchDescriptor(entity: "Node", predicate: predicate))
        for (lists, expected) in [(1, nil), (4, TandemError.Code.historyExpired)] {
            let items = Array(repeating: item, count: lists)
            #expect(
                try code(.verdicts(VerdictRequest(from: from, items: items))) == expected)
        }
    }
}
