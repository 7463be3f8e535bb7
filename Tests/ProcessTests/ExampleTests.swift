import Foundation
import Glibc
import Tandem
import TandemIO
import Testing

private let examplesAreBuilt = ["todo", "todolive", "mailer", "kiosk", "archiver"].allSatisfy {
    access(DaemonProcess.products + "/" + $0, X_OK) == 0
}

/// The apps in `Tests/Examples`: packages of their own that use only public products.
@Suite(.ownThread, .enabled(if: examplesAreBuilt, "`make test` builds Tests/Examples"))
struct ExampleTests: StoreSuite {
    let place: Place

    init() throws { place = try Place.serving() }

    /// Runs an example with the socket of the place.
    private func run(_ program: String, _ arguments: String...) throws -> CommandRun {
        try CommandRun(path: "/usr/bin/env", command(program) + arguments)
    }

    /// Runs `todo` with words that are separated by spaces, and expects success.
    private func todo(_ words: String) throws {
        let words = words.split(separator: " ").map(String.init)
        expect(try CommandRun(path: "/usr/bin/env", command("todo") + words), 0)
    }

    private func command(_ program: String) -> [String] {
        ["TANDEM_SOCKET=\(place.socket)", DaemonProcess.products + "/" + program]
    }

    /// Starts an example whose lines are read while it runs.
    private func start(_ program: String, _ arguments: String...) throws -> (
        child: ChildProcess, lines: LineReader
    ) {
        let child = try ChildProcess.start(
            "/usr/bin/env", command(program) + arguments, output: .pipe)
        return (child, LineReader(try #require(child.output)))
    }

    @Test func `a list is edited by one program and shown by another`() throws {
        try todo("add Home tea 1")
        try todo("add Work report")
        var (live, lines) = try start("todolive")
        defer { live.kill() }
        #expect(lines.next() == "Home: tea; Work: report")
        for (words, shown) in [
            ("add Home cake 2", "Home: cake, tea; Work: report"),
            ("priority tea 3", "Home: tea, cake; Work: report"),
            ("rename Home Zuhause", "Work: report; Zuhause: tea, cake"),
            ("move report Zuhause", "Zuhause: tea, cake, report"),
            ("retitle report letter", "Zuhause: tea, cake, letter"),
            ("done cake", "Zuhause: tea, letter"),
            ("delete letter", "Zuhause: tea"),
        ] {
            try todo(words)
            #expect(lines.next() == shown)
        }
        expect(try run("todo", "show"), 0, "[ ] Zuhause 3 tea\n[x] Zuhause 2 cake\n")
        expect(try run("todo", "show", "Work"), 0)
        expect(try run("todo", "lists"), 0, "Zuhause 2")
        expect(try run("todo", "clear"), 0, "1 deleted")
        try todo("drop Zuhause")
        #expect(lines.next()?.isEmpty == true)
    }

    @Test func `mistakes are reported in a sentence`() throws {
        try todo("add Home tea")
        expect(try run("todo", "rename", "Office", "Work"), 1, "no list is called \"Office\"")
        try todo("add Work tea")
        let taken = try run("todo", "rename", "Work", "Home")
        expect(taken, 1, "todo: uniqueness", "\"Home\" is taken")
        expect(try run("todo", "retitle", "tea", ""), 1, "todo: validation", "Item/", ".title")
        expect(try run("todo", "shuffle"), 1, "usage: todo lists | show [LIST]")
        let elsewhere = try CommandRun(
            path: "/usr/bin/env",
            ["TANDEM_SOCKET=/nonexistent/socket", DaemonProcess.products + "/todo", "show"])
        expect(elsewhere, 1, "no daemon listens on /nonexistent/socket")
    }

    @Test func `a killed service sends every message once`() throws {
        let outbox = place.path + "/outbox"
        for number in 0..<6 { try todo("add Home item\(number)") }
        var sent: [String] = []
        for number in 0..<6 {
            // Some saves happen while the service runs, the others while it doesn't.
            if !number.isMultiple(of: 2) { try todo("done item\(number)") }
            var (service, lines) = try start("mailer", outbox)
            // The next service needs the consumer's name, which a running service holds.
            defer {
                service.kill()
                _ = service.wait()
            }
            let first = lines.next()
            #expect(try #require(first).hasPrefix("continuing after "))
            if number.isMultiple(of: 2) { try todo("done item\(number)") }
            let line = lines.next()
            sent.append(try #require(line))
        }
        let expected = (0..<6).map { "todo completed item\($0)" }
        #expect(sent == expected.map { "sent " + $0 })
        let kept = try String(contentsOfFile: outbox, encoding: .utf8).split(separator: "\n")
        #expect(kept.map { $0.drop { $0 != " " }.dropFirst() }.elementsEqual(expected, by: ==))
    }

    @Test func `an app with the daemon inside keeps its store`() throws {
        let store = place.path + "/kiosk"
        expect(try run("kiosk", store, "Ada"), 0, "Ada 1\n")
        expect(try run("kiosk", store, "Ben"), 0, "Ada 1\nBen 1\n")
        expect(try run("kiosk", store, "Ben"), 0, "Ben 2\nAda 1\n")
        expect(try run("kiosk", store, ""), 1, "kiosk: validation", ".name")
        expect(try run("kiosk", place.store, "Ada"), 1, "kiosk: ", place.store)
    }

    @Test func `an actor works beside other processes`() throws {
        for title in ["tea", "cake", "letter"] { try todo("add Home \(title)") }
        try todo("done cake")
        var (worker, lines) = try start("archiver")
        defer { worker.kill() }
        #expect(lines.next() == "archived cake; 2 left")
        try todo("done letter")
        #expect(lines.next() == "archived letter; 1 left")
        try todo("done tea")
        #expect(lines.next() == "archived tea; 0 left")
        #expect(worker.wait() == .exited(0))
    }
}
