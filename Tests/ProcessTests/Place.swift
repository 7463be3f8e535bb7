import FoundationEssentials
import Glibc
import Tandem
import TandemIO

/// A directory for a store and a socket, removed with the last reference.
///
/// The daemons that the place started are ended before the removal.
final class Place: Sendable {
    let path: String
    let store: String
    var socket: String { path + "/socket" }
    private let daemons = Locked<[DaemonProcess]>([])

    /// Creates the directory, which contains the store unless another path is given.
    init(store elsewhere: String? = nil) throws {
        // Short, because a socket's path has at most 107 bytes and the temporary directory's may be
        // long.
        path = FileManager.default.temporaryDirectory.path + "/t-\(UUID().uuidString.prefix(8))"
        store = elsewhere ?? path + "/store"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
    }

    /// Starts a daemon on the store, or on another one, and waits until it is ready.
    @discardableResult
    func serve(_ other: String? = nil, options: [String] = []) throws -> DaemonProcess {
        let daemon = try DaemonProcess.serving(
            store: other ?? store, socket: socket, options: options)
        daemons.withLock { $0.append(daemon) }
        return daemon
    }

    deinit {
        for daemon in daemons.withLock({ $0 }) where daemon.isRunning { daemon.end(SIGTERM) }
        try? FileManager.default.removeItem(atPath: path)
    }
}

extension Place {
    /// Starts a daemon with segments of 64 KiB, so that a few saves fill several of them.
    @discardableResult
    func serveSmallSegments(_ other: String? = nil) throws -> DaemonProcess {
        try serve(other, options: ["--segment-kibibytes", "64"])
    }

    /// Saves notes, each in a save of its own; returns the last position.
    @MainActor @discardableResult
    func saveNotes(_ count: Int, bytes: Int = 100) throws -> Position {
        let model = ManagedObjectModel { Entity("Note") { Attribute("text", .string) } }
        let container = PersistentContainer(model: model, socket: socket, author: "saver")
        defer { container.close() }
        let context = container.makeContext(name: "main")
        func save() throws -> Position {
            try context.insert("Note")["text"] = .string(String(repeating: "z", count: bytes))
            return try context.save()
        }
        for _ in 1..<count { _ = try save() }
        return try save()
    }

    /// Saves pages of 30 kB, two of which fill a segment of 64 KiB.
    @MainActor func savePages(_ count: Int) throws {
        let model = ManagedObjectModel { Entity("Page") { Attribute("text", .string) } }
        let container = PersistentContainer(model: model, socket: socket, author: "pages")
        defer { container.close() }
        let context = container.makeContext(name: "main")
        for _ in 0..<count {
            let page = try context.insert("Page")
            page["text"] = .string(String(repeating: "x", count: 30_000))
            try context.save()
        }
    }
}
