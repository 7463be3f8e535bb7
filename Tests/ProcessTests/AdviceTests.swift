import Foundation
import Glibc
import Tandem
import TandemIO
import Testing

/// Recovery commands suggested by error messages: each is run, and must leave a store that a daemon
/// serves.
@Suite(.ownThread) struct AdviceTests {
    let place: Place
    private let files = RealFileSystem()
    private var data: String { place.store + "/store/data.mdb" }

    init() throws { place = try Place() }

    /// A stopped store of ten pages, in segments of two.
    @MainActor private func fill() throws {
        let daemon = try place.serveSmallSegments()
        try place.savePages(10)
        #expect(daemon.end(SIGTERM) == 0)
    }

    /// Returns the output of a daemon that fails to start, and expects its exit code.
    private func refusal(_ code: Int32 = 78, shell limits: String? = nil) throws -> String {
        let daemon = try DaemonProcess(
            "tandemd", ["--store", place.store, "--socket", place.socket], shell: limits)
        let output = daemon.readOutput()
        #expect(daemon.wait() == code, "\(output)")
        return output
    }

    /// Runs the command that a message suggests, with real directories for DIR and NEW.
    ///
    /// Returns the store that the command created or repaired.
    private func follow(
        _ message: String, _ verb: String, saying part: String = ""
    ) throws -> String {
        let commands = message.split(separator: "`").filter { $0.hasPrefix("tandem \(verb)") }
        let command = try #require(commands.first, "\(message)")
        let new = place.path + "/new"
        var words = command.split(separator: " ").dropFirst().map { word -> String in
            word == "DIR" ? place.store : word == "NEW" ? new : String(word)
        }
        if verb == "rebuild", !words.contains("-D") { words += ["-D", place.store] }
        let run = try CommandRun("tandem", words)
        if verb == "rebuild" { #expect(run.code == 0, "\(run.output)") }
        #expect(part.isEmpty || run.output.contains(part), "\(run.output)")
        return verb == "salvage" ? new : place.store
    }

    /// Expects that a daemon serves a store with the ten pages and accepts another page.
    @MainActor private func expectWhole(_ store: String) throws {
        let daemon = try place.serve(store)
        let count = try CommandRun("tandem", ["count", "Page", "--socket", place.socket])
        #expect(count.output == "10\n")
        try place.savePages(1)
        #expect(daemon.end(SIGTERM) == 0)
    }

    @Test @MainActor func `a damaged journal next to an intact store is salvaged`() throws {
        try fill()
        let file = try files.open(try segments(of: place.store)[1], .readWrite)
        try file.write([0x55, 0xaa], at: 4_096 + 200)
        file.close()
        try expectWhole(try follow(try refusal(), "salvage"))
        let rebuild = try CommandRun("tandem", ["rebuild", "-D", place.store])
        #expect(rebuild.code == 1 && rebuild.output.contains("`tandem salvage DIR --to NEW`"))
    }

    @Test @MainActor func `a journal that lost its end is salvaged`() throws {
        try fill()
        try files.remove(try #require(try segments(of: place.store).last))
        try expectWhole(try follow(try refusal(), "salvage"))
    }

    @Test @MainActor func `a lost journal is salvaged`() throws {
        try fill()
        for segment in try segments(of: place.store) { try files.remove(segment) }
        try expectWhole(try follow(try refusal(), "salvage"))
    }

    @Test(arguments: [false, true]) @MainActor
    func `a journal that backup refuses is salvaged`(_ isLost: Bool) throws {
        try fill()
        for segment in try segments(of: place.store).suffix(isLost ? 10 : 1) {
            try files.remove(segment)
        }
        let backup = try CommandRun("tandem", ["backup", place.path + "/b", "-D", place.store])
        #expect(backup.code == 1)
        try expectWhole(try follow(backup.output, "salvage"))
    }

    @Test @MainActor func `a store file with foreign contents is rebuilt`() throws {
        try fill()
        let file = try files.open(data, .readWrite)
        try file.write([UInt8](repeating: 7, count: 8_192), at: 0)
        file.close()
        let reason = "the old store cannot be read ("
        try expectWhole(try follow(try refusal(), "rebuild", saying: reason))
    }

    @Test(arguments: [100, 20_000]) @MainActor
    func `a truncated store file is rebuilt`(_ bytes: Int) throws {
        try fill()
        try CommandRun(shell: "truncate -s \(bytes) '\(data)'").check()
        let message = try refusal()
        // Reading a truncated map raises a signal that ends the process.
        if message.contains("move that file away") {
            let rebuild = try CommandRun("tandem", ["rebuild", "-D", place.store])
            #expect(rebuild.code == 1 && rebuild.lines.count == 1, "\(rebuild.output)")
            #expect(rebuild.output.contains("move that file away"), "\(rebuild.output)")
            try files.rename(data, to: place.path + "/data.mdb")
        }
        try expectWhole(try follow(message, "rebuild"))
    }

    @Test @MainActor func `a store that belongs to another log than its journal is rebuilt`() throws
    {
        try fill()
        let other = try Place()
        let daemon = try other.serve()
        try other.savePages(1)
        #expect(daemon.end(SIGTERM) == 0)
        try files.removeTree(place.store + "/store")
        try CommandRun(shell: "cp -a '\(other.store)/store' '\(place.store)/store'").check()
        try expectWhole(try follow(try refusal(), "rebuild"))
    }

    @Test @MainActor func `a start that fails for lack of memory may be repeated`() throws {
        try fill()
        let message = try refusal(75, shell: "ulimit -v 100000")
        #expect(message.contains("allow the process more"), "\(message)")
        try expectWhole(place.store)
    }
}
