import FoundationEssentials
import TandemDaemon
import TandemEmbedded
import TandemIO
import TandemModel
import TestSupport
import Testing

@testable import Tandem

final class Bucket: ManagedObject, ManagedEntity {
    @Managed("name") var name: String
    @Managed("contents") var contents: Set<Content>

    static let entity = Entity("Bucket") {
        Attribute("name", .string, default: .string(""))
        Relationship(
            "contents", to: "Content", inverse: "bucket", toMany: true, deleteRule: .cascade)
    }
}

final class Content: ManagedObject, ManagedEntity {
    @Managed("name") var name: String
    @Managed("size") var size: Int
    @Managed("bucket") var bucket: Bucket?

    static let entity = Entity("Content", indexes: [["size"]]) {
        Attribute("name", .string, default: .string(""))
        Attribute("size", .int, default: .int(0))
        Relationship("bucket", to: "Bucket", inverse: "contents")
    }
}

/// A daemon in this process on a directory of its own, and containers that share the daemon.
final class Fixture: Sendable {
    /// The running daemon, and its ends of the connections made so far.
    private struct Running {
        var daemon: EmbeddedDaemon?
        var sockets: [Socket] = []
    }

    let directory: String
    /// A directory where tests may cache lists; it is deleted with the store.
    var cacheDirectory: String { directory + "-cache" }
    let types: [any ManagedEntity.Type]
    private let running: Locked<Running>
    private let settings: @Sendable (inout DaemonConfiguration) -> Void

    init(
        _ types: [any ManagedEntity.Type] = [Bucket.self, Content.self],
        limits: DaemonLimits = DaemonLimits(),
        _ change: @escaping @Sendable (inout DaemonConfiguration) -> Void = { _ in }
    ) throws {
        directory = Scratch.memoryFolder + "/tandem-test-\(UUID().uuidString)"
        settings = { configuration in
            configuration.segmentBytes = 1 << 20
            configuration.limits = limits
            change(&configuration)
        }
        running = Locked(Running(daemon: try Fixture.daemon(directory, settings)))
        self.types = types
    }

    private static func daemon(
        _ directory: String, _ settings: (inout DaemonConfiguration) -> Void
    ) throws -> EmbeddedDaemon {
        var configuration = DaemonConfiguration(store: directory)
        settings(&configuration)
        return try EmbeddedDaemon(configuration)
    }

    /// A transport to the daemon that currently runs.
    var transport: Transport {
        .connected { [running] in
            try running.withLock { running in
                guard let daemon = running.daemon else {
                    throw TandemError(.disconnected, "the daemon is being restarted")
                }
                let socket = try daemon.transport.connect()
                running.sockets.append(socket)
                return socket
            }
        }
    }

    func container(_ author: String = "test") -> PersistentContainer {
        PersistentContainer(entities: types, author: author, transport: transport)
    }

    // MARK: Failures

    /// Stops the daemon.
    func stop() throws {
        let old = running.withLock { running in
            running.sockets.removeAll()
            defer { running.daemon = nil }
            return running.daemon
        }
        try old?.stop()
    }

    /// Stops the daemon and starts another on the same store.
    ///
    /// `raisesEpoch` creates the mark that a daemon with relaxed durability leaves when it is
    /// killed.
    func restart(raisesEpoch: Bool = false) throws {
        try stop()
        if raisesEpoch {
            let mark = directory + "/journal/relaxed"
            try #require(FileManager.default.createFile(atPath: mark, contents: nil))
        }
        let new = try Fixture.daemon(directory, settings)
        running.withLock { $0.daemon = new }
    }

    /// Closes all connections; the clients reconnect.
    func cutConnections() {
        let sockets = running.withLock { running in
            defer { running.sockets.removeAll() }
            return running.sockets
        }
        for socket in sockets { socket.shutdown() }
    }

    deinit {
        try? running.withLock { $0.daemon }?.stop()
        for path in [directory, cacheDirectory] {
            try? FileManager.default.removeItem(atPath: path)
        }
    }
}

extension ManagedObjectContext {
    /// Connects, however long a busy machine takes.
    ///
    /// Used for contexts with a short connection timeout, in tests whose daemon is stopped.
    func connectPatiently() {
        func isConnected() -> Bool { (try? connect() as Position) != nil }
        while !isConnected() {}
    }
}

/// Returns the changes of a sequence that ends.
func read<Object>(_ changes: HistoryChanges<Object>) async throws -> [HistoryChange<Object>] {
    var found: [HistoryChange<Object>] = []
    for try await change in changes { found.append(change) }
    return found
}
