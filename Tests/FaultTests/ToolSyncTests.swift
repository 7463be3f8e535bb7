import FoundationEssentials
import TandemIO
import TestSupport
import Testing

/// `tandem backup`, `restore`, `rebuild` and `import` under the recorder: by the time work is
/// reported, it is on the disk.
@Suite(.ownThread) struct ToolSyncTests {
    let place: FaultPlace
    private let files = RealFileSystem()

    init() throws { place = try FaultPlace(try Scratch()) }

    private static let model = #"{"entities": {"Team": {"attributes": {"wins": {"type": "int"}}}}}"#

    private func write(_ name: String, _ text: String) throws -> String {
        let path = "\(place.disk)/\(name)"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    /// Runs the tool, and returns its recorded calls.
    private func tandem(_ arguments: [String], code: Int32 = 0) throws -> [Recording.Record] {
        try? FileManager.default.removeItem(atPath: place.log)
        let environment = [
            "LD_PRELOAD=" + (try Recorder.library.get()), "REC_DIR=" + place.disk,
            "REC_LOG=" + place.log, "SWIFT_BACKTRACE=enable=no",
        ]
        let child = try ChildProcess.start(
            "/usr/bin/env", environment + [RecordedDaemon.products + "/tandem"] + arguments)
        #expect(child.wait() == .exited(code))
        let log = try files.contents(of: place.log, maximumBytes: 1 << 30)
        return Recording(log: log).records
    }

    /// Creates a store with a model, and returns its running daemon.
    private func serve() throws -> RecordedDaemon {
        let daemon = try RecordedDaemon(place, under: [])
        #expect(daemon.isServing, "\(daemon.text)")
        let model = try write("model.json", Self.model)
        _ = try tandem(["schema", "apply", model, "--socket", place.socket])
        return daemon
    }

    private func stop(_ daemon: RecordedDaemon) {
        daemon.terminate()
        _ = daemon.wait()
    }

    /// Expects that a path was created by a rename, with flushes in the right order.
    ///
    /// Everything below the old name must be flushed before the rename, and the new name after it.
    private func expectDurable(_ path: String, _ records: [Recording.Record]) {
        var names: [Int32: (path: String, isDirectory: Bool)] = [:]
        var dirty: Set<String> = []
        var isRenamed = false
        var isDurable = false
        for record in records {
            switch record {
            case .open(let fd, let path, _, let isDirectory, _): names[fd] = (path, isDirectory)
            case .close(let fd): names[fd] = nil
            case .write(let fd, _, _, let isSynced):
                guard let name = names[fd]?.path, !isSynced, !name.hasSuffix("lock"),
                    !name.hasSuffix("lock.mdb")
                else {
                    continue
                }
                dirty.insert(name)
            case .sync(let fd):
                guard let name = names[fd] else { continue }
                dirty.remove(name.path)
                let parent = path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex)
                if isRenamed, name.isDirectory, name.path == parent { isDurable = true }
            case .rename(let old, let new) where new == path:
                isRenamed = true
                let unflushed = dirty.filter { $0.hasPrefix(old) }
                #expect(unflushed.isEmpty, "\(unflushed)")
            default: break
            }
        }
        #expect(isRenamed, "\(path) was not renamed")
        #expect(isDurable, "the directory of \(path) was not flushed after the rename")
    }

    @Test func `law 3: backup, restore, salvage and rebuild end after their output is durable`()
        throws
    {
        let daemon = try serve()
        let backup = place.disk + "/backup"
        expectDurable(backup, try tandem(["backup", backup, "-D", place.store]))
        stop(daemon)
        let restored = place.disk + "/restored"
        expectDurable(restored, try tandem(["restore", backup, "--store", restored]))
        let salvaged = place.disk + "/salvaged"
        expectDurable(salvaged, try tandem(["salvage", restored, "--to", salvaged]))
        let data = place.store + "/store/data.mdb"
        expectDurable(data, try tandem(["rebuild", "-D", place.store]))
    }

    /// The value of the first row; each row adds its index.
    ///
    /// The upper bytes occur nowhere else in a message.
    private static let firstValue: Int64 = 0x5EED_5EED << 32

    /// Returns the highest index of a row in the bytes of a message.
    private static func lastRow(in bytes: [UInt8]) -> Int? {
        let mark: [UInt8] = [0xED, 0x5E, 0xED, 0x5E]
        return bytes.ranges(of: mark).compactMap { range -> Int? in
            guard range.lowerBound >= 4 else { return nil }
            return bytes[range.lowerBound - 4..<range.lowerBound].reversed().reduce(0) {
                $0 << 8 | Int($1)
            }
        }.max()
    }

    @Test
    func
        `law 3: rejected rows are flushed before a later row is sent, and so is their file's name`()
        throws
    {
        let daemon = try serve()
        defer { stop(daemon) }
        let rejected = Set(stride(from: 500, to: 5_000, by: 1_000))
        let rows = (0..<5_000).map { row in
            rejected.contains(row)
                ? "{\"wins\": \"x\"}" : "{\"wins\": \(Self.firstValue + Int64(row))}"
        }
        let path = try write("rows.ndjson", rows.joined(separator: "\n") + "\n")
        let records = try tandem(
            ["import", path, "--entity", "Team", "--socket", place.socket], code: 1)
        var rejects: Int32?
        var directories: Set<Int32> = []
        var (isDirty, isNamed, isWritten) = (false, false, false)
        // The number of lines in the reject file, the number of flushed ones, and the last row
        // sent.
        var (lines, flushedLines, lastSent) = (0, 0, -1)
        for record in records {
            switch record {
            case .open(let fd, let name, _, let isDirectory, _):
                if name == path + ".rejects" { rejects = fd }
                if isDirectory, name == place.disk { directories.insert(fd) }
            case .write(let fd, _, let bytes, let isSynced) where fd == rejects:
                #expect(!isDirty, "rejects were written before earlier ones were flushed")
                isDirty = !isSynced
                isWritten = true
                lines += bytes.count { $0 == UInt8(ascii: "\n") }
                if isSynced { flushedLines = lines }
            case .send(_, let bytes):
                guard let row = Self.lastRow(in: bytes) else { continue }
                lastSent = max(lastSent, row)
                #expect(
                    flushedLines >= rejected.count { $0 < row },
                    "row \(row) was sent when \(flushedLines) rejects were flushed")
            case .sync(let fd):
                if fd == rejects { (isDirty, flushedLines) = (false, lines) }
                if directories.contains(fd), isWritten { isNamed = true }
            default: break
            }
        }
        #expect(isWritten && !isDirty && isNamed)
        #expect(lastSent == rows.count - 1)
        #expect(lines == rejected.count)
    }

    @Test func `an import of linked rows sends few messages, however many rows have links`() throws
    {
        let daemon = try RecordedDaemon(place, under: [])
        defer { stop(daemon) }
        let model = """
            {"entities": {
                "Airport": {"relationships": {
                    "runways": {"to": "Runway", "toMany": true, "ordered": true, "inverse": "airport"}}},
                "Person": {"relationships": {"boss": {"to": "Person", "inverse": "staff"},
                    "staff": {"to": "Person", "toMany": true, "inverse": "boss"}}},
                "Runway": {"relationships": {
                    "airport": {"to": "Airport", "inverse": "runways", "optional": false}}}}}
            """
        _ = try tandem([
            "schema", "apply", try write("model.json", model), "--socket", place.socket,
        ])
        let count = 2_000
        func row(_ entity: String, _ number: Int, _ link: String) -> String {
            "{\"id\": \"\(entity)/\(number)\", \"values\": {\(link)}}"
        }
        let rows = (1...count).flatMap { number in
            [
                row("Airport", number, "\"runways\": [\"Runway/\(number)\"]"),
                row("Runway", number, "\"airport\": \"Airport/\(number)\""),
                row("Person", number, "\"boss\": \"Person/\(count + 1 - number)\""),
            ]
        }
        let path = try write("rows.ndjson", rows.joined(separator: "\n") + "\n")
        let records = try tandem(["import", path, "--socket", place.socket])
        let sent = records.count { if case .send = $0 { true } else { false } }
        #expect(sent > 0 && sent < count / 10, "\(sent) messages for \(3 * count) rows")
    }
}
