import Foundation
import Tandem
import TandemIO
import Testing

@testable import tandem

/// Foreign names and values in the long-running verbs `watch`, `import` and `bridge`.
@Suite(.ownThread) @MainActor struct HostileStreamTests: StoreSuite {
    let place: Place
    private static let hostile = HostileNamesTests.hostile

    init() throws { place = try .serving(Self.model) }

    private static let model = """
        {"entities": {
            "Team": {"attributes": {"name": {"type": "string"}, "zone": {"type": "string"}, "born": {"type": "date"}},
                "relationships": {"players": {"to": "Player", "toMany": true, "inverse": "team"}},
                "uniqueness": [["name"]]},
            "Player": {"attributes": {"name": {"type": "string"}},
                "relationships": {"team": {"to": "Team", "inverse": "players"}}}}}
        """

    /// A hostile text as a JSON string that has only the escapes of the standard.
    private static var quoted: String {
        let data = try? JSONSerialization.data(withJSONObject: [hostile])
        return String(String(decoding: data ?? Data(), as: UTF8.self).dropFirst().dropLast())
    }

    private func expectPrintable(_ output: String, _ what: Any) {
        let bad = output.unicodeScalars.filter { $0 != "\n" && !$0.isPrintable }
        #expect(bad.isEmpty, "\(what): \(output.debugDescription)")
    }

    // MARK: watch

    /// Inserts, moves and deletes a team with a hostile name, in three transactions.
    private func saveChanges(
        _ container: PersistentContainer, _ didSave: (UInt64) throws -> Void
    ) throws {
        let context = container.makeContext(name: Self.hostile)
        let team = try context.insert("Team")
        team["name"] = .string(Self.hostile + "2")
        team["zone"] = .string(Self.hostile + "2")
        try didSave(context.save().number)
        team["zone"] = .string(Self.hostile)
        team["name"] = .string("0" + Self.hostile)
        try didSave(context.save().number)
        context.delete(team)
        try didSave(context.save().number)
    }

    /// Returns the output of `tandem watch` from its first line on, over three transactions.
    private func watch(_ start: (_ words: [String]) throws -> ChildProcess) throws -> String {
        let container = PersistentContainer(socket: place.socket)
        defer { container.close() }
        let context = container.makeContext(name: "first")
        let name = Self.hostile + "1"
        if try context.fetchIDs(FetchRequest(entity: "Team")).isEmpty {
            let team = try context.insert("Team")
            team["name"] = .string(name)
            team["zone"] = .string(name)
            try context.save()
        }
        let end = try container.end().number + 3
        let child = try start([
            "watch", "Team", "--section", "zone", "--until", "\(end)", "--socket", place.socket,
        ])
        var bytes: [UInt8] = []
        func read(upTo marks: String...) throws {
            while case let text = String(decoding: bytes, as: UTF8.self),
                !marks.contains(where: text.contains)
            {
                let more = try child.read(count: 1 << 16)
                if more.isEmpty { return }
                bytes += more
            }
        }
        try read(upTo: "Team/")
        // Each change is shown before the next save, which might undo it.
        try saveChanges(container) { try read(upTo: "\($0): ", "\"position\":\($0)") }
        while case let more = try child.read(count: 1 << 16), !more.isEmpty { bytes += more }
        #expect(child.wait() == .exited(0))
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(arguments: ["short", "json"])
    func `watch prints no control character of a name or value`(_ format: String) throws {
        let output = try watch { words in
            try ChildProcess.start(
                "/bin/sh",
                ["-c", "exec \"$0\" \"$@\" 2>&1", DaemonProcess.products + "/tandem"] + words
                    + ["-o", format], output: .pipe)
        }
        #expect(output.split(separator: "\n").count >= 4, "\(output)")
        expectPrintable(output, format)
    }

    @Test(.enabled(if: isInstalled("script"), "script is not installed"))
    func `watch draws no control character of a name or value`() throws {
        let own = try Regex("\u{1b}\\[(H|2J|K|J|0?m|[0-9;]+m)")
        let output = try watch { words in
            let quoted = ([DaemonProcess.products + "/tandem"] + words).map {
                "'" + $0.replacing("'", with: "'\\''") + "'"
            }
            return try ChildProcess.start(
                "/usr/bin/env",
                ["TERM=xterm", "script", "-qec", quoted.joined(separator: " "), "/dev/null"],
                output: .pipe)
        }
        // The terminal puts carriage returns before the end of each line.
        let lines = output.unicodeScalars.split(separator: "\n").map { line in
            String(String.UnicodeScalarView(line.reversed().drop { $0 == "\r" }.reversed()))
        }
        expectPrintable(
            lines.joined(separator: "\n").replacing(own, with: ""), "a terminal")
    }

    // MARK: import

    @Test(arguments: ["--keep-going", "--input=ndjson"])
    func `import prints no control character of a file, a name or a value`(_ option: String) throws
    {
        let wrong = Self.quoted
        let rows = [
            #"{"entity": \#(wrong), "values": {"name": "a"}}"#,
            #"{"entity": "Team", "values": {\#(wrong): "a"}}"#,
            #"{"entity": "Team", "id": \#(wrong), "values": {"name": \#(wrong)}}"#,
            #"{"entity": "Team", "values": {"name": "b", "born": \#(wrong)}}"#,
            #"{"entity": "Team", "values": {"name": \#(wrong)}}"#,
            #"{"entity": "Player", "values": {"team": {"name": \#(wrong), \#(wrong): 1}}}"#,
            #"{"entity": "Player", "values": {"team": \#(wrong)}}"#,
            #"{\#(wrong): 1}"#, #"{"entity": \#(Self.hostile)"#,
        ]
        let path = try file("rows " + Self.hostile, rows.joined(separator: "\n"))
        let run = try tandem("import", path, option)
        expect(run, 1, "rejected")
        expectPrintable(run.output, rows)
        let again = try tandem("import", path, option)
        expect(again, 2, "exists")
        expectPrintable(again.output, path)
        for words in [[path, "--id", Self.hostile], [path + "-", "--id", Self.hostile]] {
            let run = try CommandRun(
                "tandem", ["import"] + words + ["--socket", place.socket])
            expectPrintable(run.output, words)
        }
        let same = try file(
            "same " + Self.hostile, (1...1_001).map { _ in rows[0] }.joined(separator: "\n"))
        let failed = try tandem("import", same)
        expect(failed, 1, "the first 1,000 rows all fail")
        expectPrintable(failed.output, same)
        let table = try file(Self.hostile + ".csv", "\(Self.hostile),name\n1,2\n")
        expectPrintable(try tandem("import", table, "--entity", "Team").output, table)
    }

    @Test func `import of tables prints no control character of a map or a file`() throws {
        let wrong = Self.quoted
        let name = String(Self.hostile.filter { $0 != "\r\n" && $0 != "/" })
        let folder = place.path + "/data"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        try file("data/\(name).csv", "name,zone\na,\(Self.hostile)\na,b\n")
        try file("data/\(name).csv.gz", "no gzip")
        let file = JSON.string("\(name).csv").text
        let maps = [
            #"{"files": {\#(file): {"entity": "Team", "attributes": {"name": "name"}}}}"#,
            #"{"files": {\#(file): {"entity": "Team", "attributes": {"name": \#(wrong)}}}}"#,
            #"{"files": {\#(file): {"entity": \#(wrong), "attributes": {}}}}"#,
            #"{"files": {\#(file): {"entity": "Team", "attributes": {\#(wrong): "name"}}}}"#,
            #"{"files": {\#(wrong): {"entity": "Team", "attributes": {"name": "name"}}}}"#,
            #"{"files": {\#(JSON.string("\(name).csv.gz").text): {"entity": "Team", "attributes": {"name": "name"}}}}"#,
            #"{\#(wrong): 1}"#, wrong,
        ]
        for (index, map) in maps.enumerated() {
            let path = try self.file("map \(index)" + Self.hostile, map)
            let run = try tandem("import", folder, "--map", path)
            #expect(!run.output.isEmpty)
            expectPrintable(run.output, map)
        }
    }

    @Test func `a bar and a warning show no control character of a path`() throws {
        expectPrintable(ProgressBar("unpack \(Self.hostile)").label, "a bar")
        let other = try Place(store: place.path + "/" + Self.hostile)
        let daemon = try other.serveSmallSegments()
        try other.savePages(5)
        #expect(daemon.end(SIGTERM) == 0)
        let journal = other.store + "/journal"
        let first = try #require(
            try RealFileSystem().list(journal).filter { $0.hasSuffix(".journal") }.min())
        try RealFileSystem().remove("\(journal)/\(first)")
        let run = try CommandRun("tandem", ["check", "-D", other.store])
        expect(run, 0, "warning: ")
        expectPrintable(run.output, "check")
    }

    // MARK: bridge

    @Test func `a bridge writes no control character, with a trace or without`() throws {
        let wrong = Self.quoted
        let requests = [
            #"{"id": 1, "do": "save", "context": \#(wrong), "author": \#(wrong), "ops": [{"insert": "Team", "as": "t", "set": {"name": \#(wrong), "zone": \#(wrong)}}]}"#,
            #"{"id": 2, "do": "open", "controller": \#(wrong), "entity": "Team", "sort": ["zone"], "sections": "zone"}"#,
            #"{"id": 3, "do": "observe", "name": \#(wrong)}"#,
            #"{"id": 4, "do": "save", "ops": [{"insert": "Team", "set": {"name": \#(wrong)}}]}"#,
            #"{"id": \#(wrong), "do": "fetch", "entity": "Team"}"#,
            #"{"id": 5, "do": "fetch", "entity": "Team", "where": \#(wrong)}"#,
            #"{"id": 6, "do": "fetch", "entity": \#(wrong)}"#,
            #"{"id": 7, "do": "count", "entity": "Team", "where": "name = %@", "args": [\#(wrong)]}"#,
            #"{"id": 8, "do": \#(wrong)}"#, #"{"id": 9, \#(wrong): 1}"#,
            #"{"id": 10, "do": "sections", "controller": \#(wrong)}"#,
            #"{"id": 11, "do": "close", "controller": \#(wrong)}"#,
            #"{"id": 12, "do": "close", "controller": \#(wrong)}"#,
            #"{"id": 13, "do": "save", "ops": [{"update": \#(wrong), "set": {}}]}"#,
            #"{"id": 14, "do": "save", "ops": [{"insert": "Team", "set": {\#(wrong): 1}}]}"#,
            #"{"id": 15, "do": "save", "ops": [{"insert": "Team", "set": {"born": \#(wrong)}}]}"#,
            #"{"id": 16, "do": "save", "ops": [{"insert": "Player", "set": {"team": {"name": \#(wrong)}}}]}"#,
            #"{"id": 17, "do": "batch", "update": "Team", "set": {"zone": \#(wrong)}, "batchID": \#(wrong)}"#,
            #"{"id": 18, "do": "schema", "apply": {"entities": {\#(wrong): {}}}}"#,
            #"{"id": 19, "do": "reach", "position": \#(wrong)}"#,
            #"{"id": 20, "do": "pause", "context": \#(wrong)}"#,
            Self.hostile.replacing("\r\n", with: ""), "\u{1b}]0;title\u{7}",
        ]
        let path = try file("requests", requests.joined(separator: "\n") + "\n")
        for trace in ["", "TANDEM_DEBUG=1"] {
            let run = try CommandRun(
                shell: "\(trace) exec '\(DaemonProcess.products)/tandem' bridge --author "
                    + "'\(Self.hostile)' --socket '\(place.socket)' <'\(path)' 2>&1")
            expectPrintable(run.output, trace)
            #expect(run.lines.count >= requests.count, "\(run.output)")
        }
    }
}
