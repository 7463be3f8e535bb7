import Foundation
import Tandem
import TandemIO
import Testing

@testable import tandem

/// `tandem top` with a running daemon.
@Suite(.ownThread) struct TopTests {
    let place: Place
    let daemon: DaemonProcess

    init() throws {
        place = try Place()
        daemon = try place.serve()
    }

    private func tandem(_ arguments: String...) throws -> CommandRun {
        try CommandRun("tandem", ["top"] + arguments + ["--socket", place.socket])
    }

    @Test @MainActor func `top shows the clients, and rates between two samples`() throws {
        let model = ManagedObjectModel { Entity("Page") { Attribute("text", .string) } }
        let container = PersistentContainer(model: model, socket: place.socket, author: "pages")
        defer { container.close() }
        let context = container.makeContext(name: "main")
        _ = try context.insert("Page")
        let position = try context.save()
        let run = try tandem("-d", "0.05")
        #expect(run.code == 0)
        #expect(run.lines[0].hasPrefix("tandemd running, up "), "\(run.output)")
        #expect(run.lines[0].contains(", position \(position.number), "))
        #expect(run.lines[1].hasPrefix("saves 0/s in 0 flushes/s, in "))
        #expect(run.lines[2].hasPrefix("save -, flush -, "))
        let client = try #require(run.lines.first { $0.contains(" pages ") })
        let cells = client.split(separator: " ").map(String.init)
        #expect(cells[1] == "\(ThisProcess.processID)")
        let frames = try tandem("-n", "2", "-d", "0.05", "-o", "json").json
        #expect(frames.count == 2)
        #expect(frames.allSatisfy { ($0["seconds"]?.number ?? 0) >= 0.05 })
        let authors = frames[1]["clients"]?.array?.compactMap { $0["author"]?.string } ?? []
        #expect(Set(authors) == ["pages", "tandem"])
    }

    @Test @MainActor func `a save between two samples shows as rates of saves and requests`()
        throws
    {
        let model = ManagedObjectModel { Entity("Page") { Attribute("text", .string) } }
        let container = PersistentContainer(model: model, socket: place.socket, author: "pages")
        defer { container.close() }
        let context = container.makeContext(name: "main")
        _ = try context.insert("Page")
        try context.save()
        let before = StatusSample(try JSON(parsing: try container.status()), time: 0)
        _ = try context.insert("Page")
        try context.save()
        let now = StatusSample(try JSON(parsing: try container.status()), time: 2_000_000_000)
        let frame = TopFrame(before: before, now: now)
        #expect(frame.json["transactions"]?.number == 0.5 && frame.json["batches"]?.number == 0.5)
        #expect((frame.json["receivedBytes"]?.number ?? 0) > 0)
        #expect((frame.json["sentBytes"]?.number ?? 0) > 0)
        let client = try #require(frame.clients.first { $0.json["author"]?.string == "pages" })
        #expect((client.requests ?? 0) > 0, "\(client)")
        let lines = frame.lines(style: Style(), width: 200, height: 24)
        #expect(lines[1].hasPrefix("saves 0.5/s in 0.5 flushes/s, in "), "\(lines)")
    }

    @Test func `the slowest requests are below the longest stalls, with their clients`() throws {
        let status = JSON.object([
            "slowRequests": .array([
                .object([
                    "kind": .string("fetch"), "entity": .string("Team"), "author": .string("app"),
                    "pid": .int(7), "microseconds": .int(1_234_567), "endNanoseconds": .int(0),
                ])
            ])
        ])
        let frame = TopFrame(
            before: StatusSample(status, time: 0), now: StatusSample(status, time: 5_000_000_000))
        let lines = frame.lines(style: Style(), width: 200, height: 24)
        #expect(lines.contains("slow requests: fetch Team 1234 ms of app[7] 5 s ago"), "\(lines)")
        #expect(frame.json["slowRequests"] == status["slowRequests"])
    }

    @Test func `the state of the readers is in one line`() throws {
        let status = JSON.object([
            "reads": .object([
                "reading": .int(2), "threads": .int(3), "waiting": .int(4),
                "heldBytes": .int(5 << 20), "oldestMilliseconds": .int(1_500),
                "oldestCommittedBytes": .int(6 << 20),
            ]),
            "limits": .object([
                "snapshotMilliseconds": .object(["reached": .int(7)]),
                "snapshotBytes": .object(["reached": .int(1)]),
            ]),
        ])
        let frame = TopFrame(
            before: StatusSample(status, time: 0), now: StatusSample(status, time: 5_000_000_000))
        let line =
            "reads 2 of 3, 4 wait, 5 MiB; oldest snapshot 1500 ms, 6 MiB committed since; 8 ended by "
            + "limits"
        let lines = frame.lines(style: Style(), width: 200, height: 24)
        #expect(lines.contains(line), "\(lines)")
    }

    @Test func `invalid input is reported in one line`() throws {
        for (arguments, part) in [
            (["-d", "0"], "--delay must be at least"), (["-n", "0"], "at least 1"),
            (["-d", "nan"], "--delay must be at least"),
        ] {
            let run = try CommandRun("tandem", ["top"] + arguments + ["--socket", place.socket])
            #expect(run.code == 2 && run.lines.count == 1, "\(run.output)")
            #expect(run.output.contains(part), "\(run.output)")
        }
        #expect(daemon.end(SIGTERM) == 0)
        #expect(try tandem().code == 3)
    }
}
