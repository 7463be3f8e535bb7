import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import TandemDaemon

@Suite(.ownThread) struct WaitingAnswerTests {
    @Test func `verdicts follow the pushes of their window and move the cursor`() throws {
        let bench = try EngineBench()
        let writer = try bench.client()
        let reader = try bench.client(Hello(author: "r", interests: ["Node"]))
        let node = try bench.bench.reference("Node", 1)
        try writer.save([
            try bench.bench.insert("Node", 1), try bench.bench.insert("Group", 3),
            try bench.bench.insert("Tag", 2, ["label": .string("b")], links: ["nodes": [node]]),
        ])
        let from = bench.position.number
        let group = try bench.bench.reference("Group", 3)
        try writer.save([
            try bench.bench.update("Tag", 2, ["label": .string("a")]),
            try bench.bench.update("Node", 1, ["group": .reference(group)]),
        ])
        let item = VerdictItem(
            request: FetchDescriptor(
                entity: "Node", predicate: try ObjectPredicate(format: "ANY tags.label == 'a'"),
                sort: [SortComponent("group.title", ascending: true)]))
        guard
            case .verdicts(let answer) = try reader.ask(
                .verdicts(VerdictRequest(from: from, items: [item, item])))
        else {
            Issue.record("no verdicts")
            return
        }
        #expect(answer.position == bench.position.number)
        #expect(answer.items.map { $0.map(\.object) } == [[node], [node]])
        #expect(answer.items[0].first?.matches == true)
        #expect(answer.related.map(\.object) == [group])
        #expect(reader.pushes.last?.transaction.position == answer.position)
        #expect(reader.machine.cursor == answer.position)
        // A window that begins before the model can't be evaluated.
        guard
            case .failure(let error) = try reader.ask(
                .verdicts(VerdictRequest(from: 0, items: [item])))
        else {
            Issue.record("no failure")
            return
        }
        #expect(error.code == .historyExpired)
    }

    @Test func `an answer waits for the pushes before it, however large they are`() throws {
        let bench = try EngineBench()
        let reader = try bench.client(Hello(author: "r", interests: ["Node"]))
        let writer = try bench.client()
        let text = PropertyValue.string(String(repeating: "x", count: 60_000))
        for number in UInt64(1)...80 {
            try writer.save([try bench.bench.insert("Node", number, ["name": text])])
        }
        // About five megabytes are queued; the answers to a read and a save of this client come
        // after them.
        let read = try reader.send(.read(Read(objects: [try bench.bench.reference("Node", 80)])))
        let save = try reader.send(.save(reader.saveRequest([try bench.bench.insert("Node", 90)])))
        guard case .saved(let saved) = try reader.answer(save) else {
            Issue.record("not saved")
            return
        }
        #expect(reader.pushes.map(\.transaction.position) == Array(2...saved.position))
        guard case .objects(let objects) = try reader.answer(read) else {
            Issue.record("not read")
            return
        }
        #expect(objects.objects.count == 1)
        #expect(objects.position == saved.position)
    }

    @Test func `on a full disk saves are refused and reads continue, until there is space`() throws
    {
        let bench = try EngineBench()
        let client = try bench.client(Hello(author: "a", interests: ["Node"]))
        // The disk has space for the existing segment and little more.
        bench.bench.disk.capacityBytes = 300 << 10
        let text = PropertyValue.string(String(repeating: "x", count: 20_000))
        var refused: TandemError?
        var number: UInt64 = 0
        while refused == nil, number < 100 {
            number += 1
            do {
                try client.save([try bench.bench.insert("Node", number, ["name": text])])
            } catch let error as TandemError {
                refused = error
            }
        }
        #expect(refused?.code == .readOnly)
        #expect(bench.engine.status["readOnly"] == .bool(true))
        let answer = try client.fetch(Fetch(request: FetchDescriptor(entity: "Node"), kind: .count))
        #expect(answer.count == number - 1)
        #expect(client.pushes.count == Int(number) - 1)
        let expected = try dump(bench.bench.store)
        bench.bench.disk.capacityBytes = nil
        try bench.crash()
        #expect(try dump(bench.bench.store) == expected)
        let again = try bench.client()
        try again.save([try bench.bench.insert("Node", number, ["name": text])])
    }
}
