import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// The permissions of roles.
@Suite(.ownThread) struct RoleTests {
    static let reader = PeerCredentials(uid: 5_001, gid: 5_001, pid: 11)
    private static let writer = PeerCredentials(uid: 5_002, gid: 5_002, pid: 12)
    private static let admin = PeerCredentials(uid: 5_003, gid: 5_003, pid: 13, groups: [77])
    private static let stranger = PeerCredentials(uid: 5_004, gid: 5_004, pid: 14, groups: [78])

    static let policy: RolePolicy = {
        var policy = RolePolicy()
        policy.others = .none
        policy.users = [.reader: [5_001], .writer: [5_002]]
        policy.groups = [.admin: [77]]
        return policy
    }()

    @Test func `users, groups and supplementary groups assign roles, the highest counts`() {
        var policy = Self.policy
        func role(_ peer: PeerCredentials) -> Role { policy.role(of: peer, daemon: 900) }
        #expect(role(Self.reader) == .reader)
        #expect(role(Self.writer) == .writer)
        #expect(role(Self.admin) == .admin)
        #expect(role(Self.stranger) == .none)
        policy.groups[.writer] = [5_001]
        #expect(role(Self.reader) == .writer)
        policy.others = .reader
        #expect(role(Self.stranger) == .reader)
    }

    @Test func `root and the daemon's user are admins, whatever the lists say`() {
        var policy = RolePolicy()
        policy.others = .none
        policy.users[.reader] = [0, 900]
        #expect(policy.role(of: PeerCredentials(uid: 0, gid: 0, pid: 1), daemon: 900) == .admin)
        #expect(policy.role(of: PeerCredentials(uid: 900, gid: 9, pid: 1), daemon: 900) == .admin)
        #expect(RolePolicy().role(of: Self.stranger, daemon: 900) == .writer)
    }

    @Test func `law 8: a user without a role gets an error, is logged and counted`() throws {
        let bench = try EngineBench(roles: Self.policy)
        let error = try bench.refusal(of: Self.stranger)
        #expect(error?.code == .denied)
        #expect(error?.message.contains("uid 5004") == true)
        let line = try #require(bench.log.lines.last)
        for word in ["pid=14", "uid=5004", "made-up.service", "warning"] {
            #expect(line.contains(word), "\(line)")
        }
        #expect(bench.engine.status["refusedByReason"]?["role"]?.int == 1)
    }

    @Test func `a reader reads and follows but saves nothing and installs no model`() throws {
        let bench = try EngineBench(roles: Self.policy)
        let reader = try bench.client(Hello(author: "r", interests: ["Tag"]), as: Self.reader)
        let writer = try bench.client(as: Self.writer)
        try writer.save([try bench.bench.insert("Tag", 1)])
        let found = try reader.fetch(Fetch(request: FetchDescriptor(entity: "Tag")))
        #expect(found.count == 1)
        #expect(reader.pushes.count == 1)
        let insert = try bench.bench.insert("Tag", 2)
        let before = bench.position
        let error = #expect(throws: TandemError.self) { try reader.save([insert]) }
        #expect(error?.code == .denied)
        var model = graphModel
        model.entities["Extra"] = Entity("Extra") {}
        let schema = try reader.ask(.schema(SchemaRequest(model: model.json.text)))
        guard case .failure(let denied) = schema else {
            Issue.record("a reader installed a model")
            return
        }
        #expect(denied.code == .denied)
        #expect(bench.position == before)
        #expect(bench.engine.status["deniedRequests"]?.int == 2)
        let lines = bench.log.lines.filter {
            $0.contains("denied:") && $0.contains("pid=11 uid=5001")
        }
        #expect(lines.count == 2 && lines.allSatisfy { $0.contains("made-up.service") })
        // A query for a save's outcome is a read.
        let ask = SaveRequest(
            saveID: [1], contentHash: StableHash([]), modelVersion: 1, operations: [],
            onlyAsks: true)
        guard case .saved = try reader.ask(.save(ask)) else {
            Issue.record("a reader could not query an outcome")
            return
        }
    }

    @Test func `law 7: a save of a reader is refused at its first frame and uses no memory`()
        throws
    {
        let bench = try EngineBench(roles: Self.policy)
        let reader = try bench.client(as: Self.reader)
        let text = PropertyValue.string(String(repeating: "x", count: 60_000))
        let save = reader.saveRequest(
            try (UInt64(1)...40).map { try bench.bench.insert("Tag", $0, ["label": text]) })
        var bytes: [UInt8] = []
        try FrameEncoder.encode(ClientMessage.save(save), id: 5, into: &bytes)
        #expect(bytes.count > 2 * WireLimits.frameBytes)
        try reader.write(Array(bytes[..<100]))
        try reader.carry()
        guard case .failure(let error) = try reader.answer(5) else {
            Issue.record("no failure")
            return
        }
        #expect(error.code == .denied)
        for start in stride(from: 100, to: bytes.count, by: 100_000) {
            try reader.write(Array(bytes[start..<min(start + 100_000, bytes.count)]))
            try reader.carry()
            #expect(
                bench.engine.admission.unfinished.bytes <= WireLimits.frameBytes + Frame.headerBytes
            )
        }
        #expect(bench.engine.admission.unfinished.bytes == 0)
        #expect(reader.session.input.unfinishedSince == nil)
        // The connection continues after the discarded message.
        let found = try reader.fetch(Fetch(request: FetchDescriptor(entity: "Tag"), kind: .count))
        #expect(found.count == 0 && bench.engine.status["deniedRequests"]?.int == 1)
    }

    @Test func `law 8: a reader gets no numbers, however often it connects and asks`() throws {
        let bench = try EngineBench(roles: Self.policy)
        let before = bench.engine.committer.leases.numbersBelow
        let mark = bench.bench.store.nextNumber
        for _ in 0..<(2 * DaemonLimits.leasesReserved) {
            let reader = try bench.client(as: Self.reader)
            #expect(reader.welcome?.lease.count == 0)
            guard case .failure(let error) = try reader.ask(.lease(count: 10)) else {
                Issue.record("a reader got numbers")
                return
            }
            #expect(error.code == .denied)
        }
        #expect(bench.engine.committer.leases.numbersBelow == before)
        #expect(bench.bench.store.nextNumber == mark)
        let writer = try bench.client(as: Self.writer)
        #expect(writer.welcome?.lease.first == before)
        guard case .lease(let lease) = try writer.ask(.lease(count: 10)) else {
            Issue.record("a writer got no numbers")
            return
        }
        #expect(lease.count == 10)
    }

    @Test func `a reader with a larger model is denied, one with the same model is not`()
        throws
    {
        let bench = try EngineBench(roles: Self.policy)
        let same = try bench.client(Hello(model: graphModel.json.text), as: Self.reader)
        #expect(same.welcome != nil)
        var model = graphModel
        model.entities["Extra"] = Entity("Extra") {}
        let other = try bench.client(Hello(model: model.json.text), as: Self.reader)
        #expect(other.welcome == nil && other.failure?.code == .denied)
        #expect(bench.engine.status["refusedByReason"]?["role"]?.int == 1)
        #expect(bench.engine.status["deniedRequests"]?.int == 1)
    }

    @Test func `only admins migrate the store`() throws {
        let bench = try EngineBench(roles: Self.policy)
        var model = graphModel
        // A migration may drop what an install may not.
        model.entities["Form"] = nil
        let before = bench.position
        for peer in [Self.reader, Self.writer] {
            let client = try bench.client(as: peer)
            let answer = try client.ask(
                .schema(SchemaRequest(model: model.json.text, purpose: .migrate)))
            guard case .failure(let error) = answer else {
                Issue.record("uid \(peer.uid) migrated the store")
                return
            }
            #expect(error.code == .denied && bench.position == before)
        }
        let admin = try bench.client(as: Self.admin)
        let answer = try admin.ask(
            .schema(SchemaRequest(model: model.json.text, purpose: .migrate)))
        guard case .schema = answer else {
            Issue.record("an admin could not migrate the store: \(answer)")
            return
        }
        #expect(bench.position.number == before.number + 1)
    }

    @Test func `only admins close the connections of others`() throws {
        let bench = try EngineBench(roles: Self.policy)
        let writer = try bench.client(as: Self.writer)
        let reader = try bench.client(as: Self.reader)
        let denied = try writer.ask(.disconnect(client: reader.session.id))
        guard case .failure(let error) = denied else {
            Issue.record("a writer ended another's connection")
            return
        }
        #expect(error.code == .denied && !reader.session.isClosing)
        let admin = try bench.client(as: Self.admin)
        #expect(
            try admin.ask(.disconnect(client: reader.session.id)) == .disconnected(true))
        try reader.read()
        #expect(reader.isClosed && reader.failure?.code == .disconnected)
        #expect(
            try admin.ask(.disconnect(client: reader.session.id)) == .disconnected(false))
        #expect(
            try admin.ask(.disconnect(client: admin.session.id)) == .disconnected(false))
    }

    @Test func `only admins cancel the requests of others, one or all`() throws {
        let bench = try EngineBench(roles: Self.policy)
        let (reader, writer) = (
            try bench.client(as: Self.reader), try bench.client(as: Self.writer)
        )
        let admin = try bench.client(as: Self.admin)
        let client = reader.session.id
        let ids = try (0..<3).map { _ in try reader.send(.sync(Sync(number: 1_000))) }
        try bench.turn()
        guard case .failure(let error) = try writer.ask(.disconnect(client: client, request: 0))
        else {
            Issue.record("a writer ended another's request")
            return
        }
        #expect(error.code == .denied)
        #expect(try admin.ask(.disconnect(client: client, request: 999)) == .disconnected(false))
        #expect(try admin.ask(.disconnect(client: client, request: ids[1])) == .disconnected(true))
        guard case .failure(let ended) = try reader.answer(ids[1]) else {
            Issue.record("no answer")
            return
        }
        #expect(ended.code == .cancelled && ended.message.contains("administrator"))
        #expect(reader.session.cancellableIDs == [ids[0], ids[2]])
        #expect(try admin.ask(.disconnect(client: client, request: 0)) == .disconnected(true))
        for id in [ids[0], ids[2]] {
            guard case .failure(let error) = try reader.answer(id) else {
                Issue.record("no answer")
                return
            }
            #expect(error.code == .cancelled)
        }
        #expect(try admin.ask(.disconnect(client: client, request: 0)) == .disconnected(false))
        #expect(!reader.session.isClosing)
        #expect(bench.engine.status["cancelledRequests"]?.int == 3)
    }

    @Test func `a reload applies roles and limits, an invalid one changes nothing`() throws {
        let bench = try EngineBench(roles: Self.policy)
        var next = DaemonConfiguration(store: "bench")
        next.roles = Self.policy
        var problem: TandemError?
        bench.engine.configuration.setSource(
            ConfigurationReload(next) { () throws(TandemError) in
                if let problem { throw problem }
                return next
            })
        let reader = try bench.client(as: Self.reader)
        let (writer, admin) = (try bench.client(as: Self.writer), try bench.client(as: Self.admin))
        guard case .failure(let denied) = try writer.ask(.reload) else {
            Issue.record("a writer reloaded the configuration")
            return
        }
        #expect(denied.code == .denied)
        problem = TandemError(.usage, "limits.conections: there is no such key")
        next.limits.connections = 3
        guard case .failure(let wrong) = try admin.ask(.reload) else {
            Issue.record("an invalid configuration was applied")
            return
        }
        #expect(wrong == problem && bench.engine.limits.connections == 4_096)
        #expect(bench.log.lines.last?.contains("reload-failed: ") == true)
        problem = nil
        next.roles.users = [.writer: [5_001]]
        (next.limits.savesKept, next.durability) = (7, .relaxed)
        guard case .status = try admin.ask(.reload) else {
            Issue.record("the configuration was not applied")
            return
        }
        let line = try #require(bench.log.lines.last { $0.contains("reloaded: ") })
        for word in [
            "changed=\"roles.reader.users,roles.writer.users,limits.connections\"",
            "restart=\"durability,limits.savesKept\"",
        ] { #expect(line.contains(word), "\(line)") }
        #expect(bench.engine.limits.savesKept == DaemonLimits().savesKept)
        // The reader may save now; a user who has lost every role is disconnected.
        try reader.save([try bench.bench.insert("Tag", 1)])
        try writer.read()
        #expect(writer.isClosed && writer.failure?.code == .denied)
        let third = try bench.client(as: Self.reader)
        let refused = try withExtendedLifetime(third) { try bench.refusal(of: Self.reader) }
        #expect(refused?.code == .limitExceeded)
        next.limits.connections = 4
        _ = try? bench.engine.reload()
        #expect(bench.engine.limits.connections == 4)
        #expect(bench.engine.status["limits"]?["connections"]?["value"]?.int == 4)
    }

    @Test func `the status names every client's role`() throws {
        let bench = try EngineBench(roles: Self.policy)
        let clients = [
            try bench.client(as: Self.reader), try bench.client(as: Self.writer),
            try bench.client(as: Self.admin),
        ]
        withExtendedLifetime(clients) {
            let roles = bench.engine.status["clients"]?.array?.map { $0["role"]?.string }
            #expect(roles == ["reader", "writer", "admin"])
        }
    }
}
