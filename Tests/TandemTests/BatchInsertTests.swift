import TandemModel
import TandemQuery
import TandemWire
import TestSupport
import Testing

@testable import Tandem
@testable import TandemEmbedded

/// Batch inserts through a real daemon.
///
/// Each row is inserted once, whatever interrupts the batch, and the client holds no more rows than
/// one chunk has.
@MainActor @Suite struct BatchInsertTests {
    private func rows(_ range: Range<Int>) -> [BatchValues] {
        range.map { ["name": "c\($0)", "size": $0] }
    }

    /// Checks that each row exists once, in the order of the batch.
    private func check(_ context: ManagedObjectContext, _ count: Int) throws {
        let found = try context.fetch(FetchRequest(entity: "Content", sort: ["size"]))
        #expect(found.map { $0["size"] } == (0..<count).map { .int(Int64($0)) })
    }

    enum Trouble: CaseIterable { case lost, cut }

    @Test(arguments: Trouble.allCases, 0..<3)
    func `law 3: a chunk whose answer is lost, or that is cut off, is inserted once`(
        trouble: Trouble, part: Int
    ) throws {
        let fixture = try Fixture()
        let script = ScriptedTransport(fixture.transport)
        let container = PersistentContainer(entities: fixture.types, transport: script.transport)
        for _ in 0..<part { script.next(.answered) }
        for _ in 0..<2 { script.next(trouble == .lost ? .lost : .cut) }
        let context = container.viewContext
        let request = BatchInsertRequest(entity: "Content", rows: rows(0..<2_500))
        let result = try context.execute(request)
        #expect(result.count == 2_500 && result.position == context.position)
        // If two chunks were in flight and the second was sent before the connection was cut, both
        // are sent again.
        #expect((5...7).contains(script.saves))
        try check(context, 2_500)
    }

    @Test
    func `law 3: a daemon restarted between and within chunks neither loses nor doubles a row`()
        throws
    {
        let fixture = try Fixture()
        let context = fixture.container().viewContext
        var failures: [any Error] = []
        let rows = rows(0..<4_000).lazy.map { row -> BatchValues in
            guard case .int(let size)? = row.attributes["size"], size % 700 == 699 else {
                return row
            }
            do { try fixture.restart() } catch { failures.append(error) }
            return row
        }
        let result = try context.execute(BatchInsertRequest(entity: "Content", rows: rows))
        #expect(result.count == 4_000 && failures.isEmpty)
        try check(context, 4_000)
    }

    @Test func `law 3: a repeat sends only the missing rows, and nothing if none is missing`()
        throws
    {
        let fixture = try Fixture()
        let script = ScriptedTransport(fixture.transport)
        let container = PersistentContainer(entities: fixture.types, transport: script.transport)
        let context = container.viewContext
        func insert(_ rows: [BatchValues], policy: MergePolicy = .error) throws -> BatchResult {
            try context.execute(
                BatchInsertRequest(entity: "Content", rows: rows, policy: policy), id: [4])
        }
        let all = rows(0..<3_500)
        var bad = all
        bad[2_300] = ["size": "text"]
        #expect(throws: TandemError.self) { try insert(bad) }
        // The chunk after the bad one was already in flight.
        #expect(script.saves == 4)
        let result = try insert(all)
        #expect(result.count == 3_500 && script.saves == 6)
        #expect(try insert(all) == result)
        #expect(script.saves == 6)
        // With different rows, fewer rows or another policy, it is not the same batch.
        for (other, policy) in [
            (bad, MergePolicy.error), (Array(all.dropLast()), .error), ([], .error),
            (all, .rollback),
            (Array(all.reversed()), .error),
        ] {
            let error = #expect(throws: TandemError.self) { try insert(other, policy: policy) }
            #expect(error?.code == .usage)
        }
        #expect(script.saves == 6)
        try check(context, 3_500)
    }

    @Test func `an error names the row and its property, and inserted rows are merged`() throws {
        let fixture = try Fixture()
        let context = fixture.container().viewContext
        var bad = rows(0..<3_000)
        bad[2_345] = ["size": "text"]
        let error = #expect(throws: TandemError.self) {
            try context.execute(BatchInsertRequest(entity: "Content", rows: bad))
        }
        #expect(error?.code == .validation && error?.row == 2_345)
        #expect(error?.message.hasPrefix("row 2345: ") == true)
        #expect(error?.message.contains(".size: ") == true)
        #expect(error?.done?.count == 2_345 && error?.done?.position == context.position)
        try check(context, 2_345)
        // A property that the model does not have is detected by the client; the error names the
        // row.
        bad = rows(0..<1_500)
        bad[1_200] = ["no": 1]
        let unknown = #expect(throws: TandemError.self) {
            try context.execute(BatchInsertRequest(entity: "Content", rows: bad))
        }
        #expect(unknown?.code == .unknownProperty && unknown?.row == 1_200)
        #expect(unknown?.done?.count == 1_200)
        let first = #expect(throws: TandemError.self) {
            try context.execute(BatchInsertRequest(entity: "Content", rows: [["no": 1]]))
        }
        #expect(first?.row == 0 && first?.done == nil)
    }

    @Test(arguments: [0, 1, 500, 999])
    func `a row that is refused while the next chunk is in flight ends the batch before it`(
        bad: Int
    ) throws {
        let fixture = try Fixture()
        let context = fixture.container().viewContext
        var bad4 = rows(0..<4_500)
        bad4[bad] = ["size": "text"]
        let error = #expect(throws: TandemError.self) {
            try context.execute(BatchInsertRequest(entity: "Content", rows: bad4), id: [1])
        }
        #expect(error?.code == .validation && error?.row == bad)
        try check(context, bad)
        // No later chunk was applied, so the corrected batch continues at the refused row.
        let result = try context.execute(
            BatchInsertRequest(entity: "Content", rows: rows(0..<4_500)), id: [1])
        #expect(result.count == 4_500)
        try check(context, 4_500)
    }

    @Test
    func
        `law 3: refused rows are left out, reported before later rows, and cost as much as others`()
        async throws
    {
        struct Stopped: Error {}
        let fixture = try Fixture()
        let script = ScriptedTransport(fixture.transport)
        let container = PersistentContainer(entities: fixture.types, transport: script.transport)
        let context = container.viewContext
        let rows = (0..<5_000).map { index -> BatchValues in
            index % 5 == 3 ? ["size": "text"] : ["size": index]
        }
        func insert(
            _ rows: [BatchValues],
            _ refusing: @escaping ([(row: Int, error: TandemError)]) throws -> Void
        ) async throws -> BatchResult {
            try await context.tools.execute(
                AsyncBatchInsertRequest(entity: "Content", rows: ReadyRows(rows)), id: [1],
                refusing: refusing)
        }
        // If the caller can't record the refused rows, no later row is inserted.
        await #expect(throws: Stopped.self) { _ = try await insert(rows) { _ in throw Stopped() } }
        #expect(try await context.fetch(FetchRequest(entity: "Content")).count == 3)
        var refused: [Int] = []
        let before = script.saves
        let result = try await insert(rows) { found in
            refused += found.map(\.row)
            #expect(found.allSatisfy { $0.error.code == .validation })
        }
        #expect(refused == rows.indices.filter { $0 % 5 == 3 })
        #expect(result.count == 4_000)
        // A thousand rows are refused; one request per refused row would take a thousand requests.
        // The number of requests depends on the daemon's speed.
        #expect(script.saves - before <= 250, "\(script.saves - before) requests")
        let kept = rows.indices.filter { $0 % 5 != 3 }
        let found = try await context.fetch(FetchRequest(entity: "Content", sort: ["size"]))
        #expect(found.map { $0["size"] } == kept.map { .int(Int64($0)) })
        // Without the refused rows it is the same batch, and all of its rows exist.
        let end = script.saves
        let again = try await insert(kept.map { rows[$0] }) { _ in throw Stopped() }
        #expect(again == result && script.saves == end)
    }

    @Test func `a chunk is made while the one before it is in flight, and no third one`() throws {
        let model = try CompiledModel(
            ManagedObjectModel {
                Content.entity; Bucket.entity
            })
        let work = BatchInsertSender(
            entity: "Content", policy: .error, id: [1], mayBeRepeat: false, author: nil,
            context: "c")
        func fill() throws { while work.wantsMore { try work.add(["size": 1]) } }
        func send() throws -> BatchInsert {
            while work.lacksNumber { work.numbers.append(1) }
            let message = try work.message(model).0
            work.didSend(message.rows.count, ReplyPromise())
            return message
        }
        try fill()
        let first = try send()
        try fill()
        #expect(work.canSend)
        let second = try send()
        #expect(second.first == 1_000 && second.before == first.rows.last?.hash)
        #expect(!work.canSend && !work.wantsMore && work.heldRows == 2_001)
        // The answer to the first chunk makes room for another.
        _ = work.dequeueReply()
        try work.handle(
            BatchInsertAnswer(
                position: 1, rows: 1_000, hash: try #require(first.rows.last).hash,
                hasEnded: false))
        try fill()
        #expect(work.canSend && work.heldRows == 2_001)
        let third = try send()
        #expect(third.first == 2_000 && third.before == second.rows.last?.hash)
    }

    @Test func `rows come from an asynchronous sequence`() async throws {
        let fixture = try Fixture()
        let context = fixture.container().viewContext
        let rows = ReadyRows((0..<2_300).map { ["size": $0] })
        let result = try await context.execute(
            AsyncBatchInsertRequest(entity: "Content", rows: rows), id: [1])
        #expect(result.count == 2_300 && result.position == context.position)
        try check(context, 2_300)
        let none = AsyncStream<BatchValues> { $0.finish() }
        let nothing = try await context.execute(
            AsyncBatchInsertRequest(entity: "Content", rows: none))
        #expect(nothing == BatchResult(position: result.position, count: 0))
    }

    @Test func `an error of the sequence itself is rethrown after the inserted rows are merged`()
        async throws
    {
        struct Broken: Error {}
        let fixture = try Fixture()
        let context = fixture.container().viewContext
        let sizes: [BatchValues] = (0..<1_500).map { ["size": $0] }
        await #expect(throws: Broken.self) {
            try await context.execute(
                AsyncBatchInsertRequest(entity: "Content", rows: ReadyRows(sizes, Broken())),
                id: [1])
        }
        try check(context, 1_000)
        // The repeated rows are the same, so the insert continues up to the bad row.
        let error = await #expect(throws: TandemError.self) {
            try await context.execute(
                AsyncBatchInsertRequest(
                    entity: "Content", rows: ReadyRows(sizes + [["size": "text"]])), id: [1])
        }
        #expect(error?.row == 1_500 && error?.done?.count == 1_500)
        try check(context, 1_500)
    }

    @Test func `law 8: at most one chunk of many rows is held or sent at once`() throws {
        let model = try CompiledModel(
            ManagedObjectModel {
                Content.entity; Bucket.entity
            })
        let work = BatchInsertSender(
            entity: "Content", policy: .error, id: [1], mayBeRepeat: false, author: nil,
            context: "c")
        let text = String(repeating: "x", count: 3_000)
        let rows = Volume.of(10_000, deep: 100_000)
        var (next, held, bytes, messages) = (0, 0, 0, 0)
        while !work.isDone {
            while work.wantsMore {
                if next == rows { try work.end() } else { try work.add(["name": text]) }
                next += 1
                held = max(held, work.heldRows)
            }
            while work.lacksNumber { work.numbers.append(UInt64(next)) }
            let message = try work.message(model).0
            var writer = ByteWriter()
            message.encode(into: &writer)
            (bytes, messages) = (max(bytes, writer.count), messages + 1)
            let done = message.first + UInt64(message.rows.count)
            try work.handle(
                BatchInsertAnswer(
                    position: done, rows: done, hash: message.rows.last?.hash ?? message.before,
                    hasEnded: message.isLast))
        }
        #expect(work.count == rows && messages > rows / 400)
        #expect(held <= WireLimits.frameBytes / 3_000 + 2)
        #expect(bytes <= WireLimits.frameBytes && bytes > WireLimits.frameBytes / 2)
    }

    @Test func `rows too long for a chunk or for a stored row are sent alone`() throws {
        let fixture = try Fixture()
        let context = fixture.container().viewContext
        let long = String(repeating: "x", count: 3 << 20)
        let rows: [BatchValues] = [["size": 0], ["size": 1, "name": .some(long)], ["size": 2]]
        try context.execute(BatchInsertRequest(entity: "Content", rows: rows))
        try check(context, 3)
        #expect(
            try context.fetch(Content.self, where: .text("size = 1")).first?.name.utf8.count == 3
                << 20)
    }

    @Test func `law 3: rows land in the properties they were meant for when the model changes`()
        throws
    {
        let fixture = try Fixture()
        let context = fixture.container().viewContext
        let later = ManagedObjectModel {
            Bucket.entity
            Entity("Content", indexes: [["size"]]) {
                Attribute("alpha", .string)
                Attribute("name", .string, default: .string(""))
                Attribute("size", .int, default: .int(0))
                Relationship("bucket", to: "Bucket", inverse: "contents")
            }
        }
        var failure: (any Error)?
        let rows = rows(0..<2_500).lazy.map { row -> BatchValues in
            guard row.attributes["size"] == .int(1_200) else { return row }
            let other = PersistentContainer(author: "other", transport: fixture.transport)
            do { _ = try other.install(later) } catch { failure = error }
            return row
        }
        let result = try context.execute(BatchInsertRequest(entity: "Content", rows: rows))
        #expect(result.count == 2_500 && failure == nil)
        try check(context, 2_500)
        let last = try context.fetch(FetchRequest(entity: "Content", sort: ["-size"], limit: 1))
        #expect(last.first?["name"] == .string("c2499") && last.first?["alpha"] == .null)
    }
}

/// Rows that are available at once.
///
/// Each row of an `AsyncStream` would leave the actor, and would be queued after the work of all
/// other tests to return.
private struct ReadyRows: AsyncSequence, AsyncIteratorProtocol {
    private var rows: ArraySlice<BatchValues>
    private let failure: (any Error)?

    init(_ rows: [BatchValues], _ failure: (any Error)? = nil) {
        self.rows = rows[...]
        self.failure = failure
    }

    func makeAsyncIterator() -> ReadyRows { self }

    mutating func next() async throws -> BatchValues? { try produce() }

    mutating func next(isolation: isolated (any Actor)?) async throws(any Error) -> BatchValues? {
        try produce()
    }

    private mutating func produce() throws -> BatchValues? {
        if let row = rows.popFirst() { return row }
        if let failure { throw failure }
        return nil
    }
}
