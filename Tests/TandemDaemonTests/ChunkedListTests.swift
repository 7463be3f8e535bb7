import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import TandemDaemon

/// Long lists found with an index: the first chunk is sent while the rest is sorted.
@Suite(.ownThread) struct ChunkedListTests {
    private static let model = ManagedObjectModel {
        Entity("Folder") {
            Attribute("name", .string)
            Relationship("papers", to: "Paper", inverse: "folder", toMany: true)
        }
        Entity("Paper", indexes: [["folder", "title"]]) {
            Attribute("title", .string)
            Relationship("folder", to: "Folder", inverse: "papers")
        }
    }

    /// Returns a bench with papers in seven folders, whose order by name differs from that by
    /// number; some papers are in no folder.
    private func bench(chunkBytes: Int) throws -> EngineBench {
        var limits = DaemonLimits()
        limits.chunkBytes = chunkBytes
        let bench = try EngineBench.ofReaders(model: Self.model, limits: limits)
        var operations = try (1...7 as ClosedRange<UInt64>).map {
            try bench.bench.insert("Folder", $0, ["name": .string("folder \(9 - $0)")])
        }
        for number in 100...399 as ClosedRange<UInt64> {
            var values: [String: PropertyValue] = ["title": .string("paper \(number * 7 % 300)")]
            if number % 8 > 0 {
                values["folder"] = .reference(try bench.bench.reference("Folder", number % 8))
            }
            operations.append(try bench.bench.insert("Paper", number, values))
        }
        try bench.bench.save(operations)
        return bench
    }

    private func fetch(_ bench: EngineBench, rowsUpTo: UInt32 = 7) throws -> Fetch {
        Fetch(
            request: FetchDescriptor(entity: "Paper", sort: ["folder.name", "title"]), kind: .list,
            interests: [try bench.bench.entity("Paper").tag],
            list: ListDetails(
                sectionKeyPath: "folder.name", hops: [["folder"]], rowsUpTo: rowsUpTo))
    }

    /// With fewer than seven, there are more folders than related objects allowed.
    @Test(arguments: [1, 100, 3_000], [2, 7] as [UInt32])
    func `law 4: a chunked list equals the unchunked one`(
        _ chunkBytes: Int, _ rowsUpTo: UInt32
    ) throws {
        let (parts, whole) = (try bench(chunkBytes: chunkBytes), try bench(chunkBytes: 1 << 20))
        let client = try parts.client()
        let id = try client.send(.fetch(try fetch(parts, rowsUpTo: rowsUpTo)))
        while client.session.read?.hasSent != true { try parts.turn() }
        guard case .fetched(let found) = try client.answer(id) else {
            Issue.record("no answer")
            return
        }
        let expected = try whole.client().fetch(try fetch(whole, rowsUpTo: rowsUpTo))
        #expect(found == expected && found.count == 300 && found.places?.count == 300)
        #expect(found.places?.hopCount == (rowsUpTo < 7 ? 0 : 1))
        #expect(parts.engine.reads.bytes.held == 0)
    }

    @Test func `law 2: saves of others while a list is sorted are pushed after it`() throws {
        let (bench, other) = (try bench(chunkBytes: 200), try bench(chunkBytes: 1 << 20))
        let (client, writer) = (try bench.client(), try bench.client())
        let id = try client.send(.fetch(try fetch(bench)))
        while client.session.read?.hasSent != true { try bench.turn() }
        let position = bench.position.number
        for number in 100...399 as ClosedRange<UInt64> {
            guard let read = client.session.read else { break }
            #expect(bench.engine.reads.bytes.held == read.countedBytes && read.countedBytes > 0)
            let folder = try bench.bench.reference("Folder", number % 7 + 1)
            try writer.save([
                number % 5 == 0
                    ? try bench.bench.delete("Paper", number)
                    : try bench.bench.update(
                        "Paper", number, ["title": .string("new"), "folder": .reference(folder)])
            ])
        }
        #expect(bench.position.number > position + 4)
        guard case .fetched(let found) = try client.answer(id) else {
            Issue.record("no answer")
            return
        }
        let expected = try other.client().fetch(try fetch(other))
        #expect(found.position == position && found.places == expected.places)
        try client.read()
        #expect(client.machine.cursor == bench.position.number)
        #expect(client.pushes.map(\.transaction.position).first == position + 1)
    }
}
