import FoundationEssentials
import Tandem
import TandemDaemon
import TandemEmbedded

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

/// A daemon in this process on a directory of its own, and containers that share it.
final class Fixture: Sendable {
    let directory: String
    let daemon: EmbeddedDaemon
    let types: [any ManagedEntity.Type]

    init(_ types: [any ManagedEntity.Type] = [Bucket.self, Content.self]) throws {
        directory =
            FileManager.default.temporaryDirectory.path
            + "/tandem-test-\(UUID().uuidString)"
        var configuration = DaemonConfiguration(store: directory)
        configuration.segmentBytes = 1 << 20
        daemon = try EmbeddedDaemon(configuration)
        self.types = types
    }

    func container(_ author: String = "test") -> PersistentContainer {
        PersistentContainer(entities: types, author: author, transport: daemon.transport)
    }

    deinit {
        try? daemon.stop()
        try? FileManager.default.removeItem(atPath: directory)
    }
}
