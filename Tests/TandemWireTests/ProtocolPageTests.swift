import FoundationEssentials
import TandemModel
import TandemWire
import Testing

/// The protocol's page, read as data.
struct ProtocolPage {
    let lines: [String]

    init() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let page = root.appending(path: "Sources/TandemWire/TandemWire.docc/Protocol.md")
        let text = String(decoding: try Data(contentsOf: page), as: UTF8.self)
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// Returns the rows below the table header that begins with these cells.
    func table(_ header: String...) -> [[String]] {
        let start = lines.firstIndex { Array(cells($0).prefix(header.count)) == header }
        guard let start else { return [] }
        return lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map(cells)
    }

    /// Returns the names of the columns of such a table.
    func columns(_ header: String...) -> [String] {
        lines.map(cells).first { Array($0.prefix(header.count)) == header } ?? []
    }

    /// Returns the lines of the code block in a language.
    func block(_ language: String) -> [String] {
        guard let start = lines.firstIndex(of: "```" + language) else { return [] }
        return Array(lines[(start + 1)...].prefix { $0 != "```" })
    }

    private func cells(_ line: String) -> [String] {
        guard line.hasPrefix("|") else { return [] }
        let parts = line.split(separator: "|", omittingEmptySubsequences: false)
        return parts.dropFirst().dropLast().map { part in
            String(part.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }
    }
}

struct ProtocolPageTests {
    @Test func `the table of fields agrees with the header`() throws {
        let rows = try ProtocolPage().table("offset", "size", "name")
        let offsets = [
            Frame.lengthOffset, Frame.typeOffset, Frame.flagsOffset, Frame.reservedOffset,
            Frame.idOffset, Frame.headerBytes,
        ]
        #expect(rows.map { Int($0[0]) } == offsets)
        #expect(rows.map { $0[2] } == ["length", "type", "flags", "reserved", "id", "payload"])
        let sizes = zip(offsets, offsets.dropFirst()).map { $1 - $0 }
        #expect(rows.dropLast().map { Int($0[1]) } == sizes)
    }

    @Test func `the table of messages agrees with the code`() throws {
        let rows = try ProtocolPage().table("type", "name", "from", "id")
        let types = rows.compactMap { UInt8($0[0]) }
        let kinds =
            ClientMessage.Kind.allCases.map(\.rawValue)
            + DaemonMessage.Kind.allCases.map(\.rawValue)
        #expect(types == kinds)
        for (type, row) in zip(types, rows) {
            let kind: (any MessageKind)? =
                row[2] == "client"
                ? ClientMessage.Kind(rawValue: type) : DaemonMessage.Kind(rawValue: type)
            let found = try #require(kind)
            #expect(row[1] == "\(found)")
            let rule = found.rules.requestID
            #expect(row[3] == (rule == .zero ? "0" : "\(rule)"))
        }
    }

    /// The fingerprints of each version's messages: of their table and of the forms that it names.
    private static let fingerprints: [UInt16: String] = [
        2: "378cc16243c2593f12d77a982517ab0d", 3: "3ebfca42d1f9c16fd09e055760e1800b",
    ]

    @Test func `messages with other fields require another version`() throws {
        let page = try ProtocolPage()
        let rows = page.table("type", "name", "from", "id", "answer").map {
            $0.joined(separator: "|")
        }
        let forms = page.lines.filter { $0.contains(" := ") || $0.hasPrefix("           |") }
        #expect(rows.count > 40 && forms.count > 10)
        let found = StableHash(Array((rows + forms).joined(separator: "\n").utf8)).description
        let version = WireLimits.protocolVersion
        #expect(
            Self.fingerprints[version] == found,
            """
            The messages differ from those of version \(version). If a build with this version was released, raise
            protocolVersion and add a row to the page's table of versions. Then record \(found) here.
            """)
        #expect(page.table("version", "since", "change").last?.first == "\(version)")
    }

    @Test func `every request is answered by a message of the daemon`() throws {
        let rows = try ProtocolPage().table("type", "name", "from", "id")
        let answers = Set(rows.filter { $0[2] == "daemon" }.map { $0[1] })
        for row in rows where row[2] == "client" { #expect(answers.contains(row[4])) }
    }

    @Test func `the table of limits agrees with the code`() throws {
        let limits: [(String, Int)] = [
            ("protocolVersion", Int(WireLimits.protocolVersion)),
            ("frameBytes", WireLimits.frameBytes),
            ("aroundTransaction", WireLimits.aroundTransaction),
            ("clientMessageBytes", WireLimits.clientMessageBytes),
            ("helloBytes", WireLimits.helloBytes),
            ("daemonMessageBytes", WireLimits.daemonMessageBytes),
            ("requestsInFlight", WireLimits.requestsInFlight),
            ("inboundQueueBytes", WireLimits.inboundQueueBytes),
            ("handshakeMilliseconds", Int(WireLimits.handshakeMilliseconds)),
            ("controllers", WireLimits.controllers),
            ("verdictItems", WireLimits.verdictItems), ("saveIDBytes", WireLimits.saveIDBytes),
            ("nameBytes", WireLimits.nameBytes),
            ("batchIDBytes", WireLimits.batchIDBytes), ("batchObjects", WireLimits.batchObjects),
            ("historyObjects", WireLimits.historyObjects),
            ("names", WireLimits.names), ("keyPathHops", WireLimits.keyPathHops),
        ]
        let rows = try ProtocolPage().table("name", "value")
        #expect(rows == limits.map { [$0.0, String($0.1)] })
    }

    @Test func `the code sends and reads the examples`() throws {
        let block = try ProtocolPage().block("hex")
        let titles = stride(from: 0, to: block.count - 1, by: 2).map { block[$0] }
        let frames = try stride(from: 1, to: block.count, by: 2).map { try bytes(block[$0]) }
        #expect(titles.count == 8)
        for (title, frame) in zip(titles, frames) {
            let parts = title.split(separator: " ")
            let id = try #require(UInt32(parts[1]))
            if let message = clientExamples[String(parts[0])] {
                try check(Envelope(id: id, message: message), frame)
            } else {
                let message = try #require(daemonExamples[String(parts[0])])
                try check(Envelope(id: id, message: message), frame)
            }
        }
    }

    private let clientExamples: [String: ClientMessage] = [
        "status": .status, "sync": .sync(Sync(number: 18, timeoutMilliseconds: 1_000)),
        "hello": .hello(Hello(author: "app", interests: ["Team", "G"])),
    ]

    private let daemonExamples: [String: DaemonMessage] = [
        "synced": .synced(position: 18),
        "progress": .progress(ProgressPush(previous: 15, position: 18)),
        "state": .state(StatePush(isReadOnly: true, since: 1_000_000, reason: "full")),
        "lease": .lease(Lease(first: 4_097, count: 4_096, epoch: 1)),
        "failure": .failure(TandemError(.usage, "one hello...")),
    ]

    private func check<Message: WireMessage>(
        _ envelope: Envelope<Message>, _ frame: [UInt8]
    ) throws {
        #expect(try TandemWireTests.frames([envelope]) == frame, "\(envelope.message)")
        #expect(try messages(in: [frame]) == [envelope])
    }

    private func bytes(_ line: String) throws -> [UInt8] {
        let digits = Array(line.filter { $0 != " " })
        return try stride(from: 0, to: digits.count - 1, by: 2).map {
            try #require(UInt8(String(digits[$0...($0 + 1)]), radix: 16))
        }
    }
}
