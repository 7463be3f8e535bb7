import FoundationEssentials
import Tandem

final class Bucket: ManagedObject, ManagedEntity {
    @Managed("name") var name: String
    @Managed("contents") var contents: Set<Content>

    static let entity = Entity("Bucket", uniqueness: [["name"]]) {
        Attribute("name", .string, optional: false)
        Relationship(
            "contents", to: "Content", inverse: "bucket", toMany: true, deleteRule: .cascade)
    }
}

final class Content: ManagedObject, ManagedEntity {
    @Managed("name") var name: String
    @Managed("creationDate") var creationDate: Date
    @Managed("isEven") var isEven: Bool
    @Managed("size") var size: Int
    @Managed("bucket") var bucket: Bucket?

    /// The same entity, with the same index, as in the compared programs.
    static let entity = Entity("Content", indexes: [["bucket", "creationDate", "name"]]) {
        Attribute("name", .string, optional: false)
        Attribute("creationDate", .date, optional: false)
        Attribute("isEven", .bool, optional: false)
        Attribute("size", .int, optional: false)
        Relationship("bucket", to: "Bucket", inverse: "contents")
    }
}

/// The entity with which recovery is measured.
final class Measured: ManagedObject, ManagedEntity {
    @Managed("serial") var serial: Int
    @Managed("name") var name: String
    @Managed("plain") var plain: Int
    @Managed("rank") var rank: Int
    @Managed("score") var score: Int

    static let entity = Entity("Measured", indexes: [["rank"], ["score", "name"]]) {
        Attribute("serial", .int, optional: false)
        Attribute("name", .string, optional: false)
        Attribute("plain", .int, optional: false, default: .int(0))
        Attribute("rank", .int, optional: false, default: .int(0))
        Attribute("score", .int, optional: false, default: .int(0))
    }
}

/// Returns a container for the daemon at a socket, for one role of a benchmark.
func container(_ socket: String, _ author: String) -> PersistentContainer {
    PersistentContainer(
        entities: [Bucket.self, Content.self, Measured.self], socket: socket, author: author)
}

extension BenchData {
    /// Fills an empty store in saves of 1,000 contents; returns the ids in the order of
    /// ``contents``.
    @MainActor func seed(_ socket: String) throws -> [ObjectID] {
        let container = container(socket, "seed")
        defer { container.close() }
        let buckets = try seedBuckets(container)
        var ids: [ObjectID] = []
        var at = 0
        while at < contents.count {
            let part = contents[at..<min(at + 1_000, contents.count)]
            ids += try seed(part, container.makeContext(name: "seed"), buckets)
            at += part.count
        }
        return ids
    }

    @MainActor private func seedBuckets(_ container: PersistentContainer) throws -> [ObjectID] {
        let context = container.makeContext(name: "seed")
        let buckets = try bucketNames.map { name in
            let bucket = try context.insert(Bucket.self)
            bucket.name = name
            return bucket
        }
        try context.save()
        return buckets.map(\.id)
    }

    @MainActor private func seed(
        _ part: ArraySlice<Content>, _ context: ManagedObjectContext, _ buckets: [ObjectID]
    ) throws -> [ObjectID] {
        let objects = try part.map { content in
            let object = try context.insert(tandembench.Content.self)
            object.name = content.name
            object.creationDate = Date(timeIntervalSince1970: content.creationDate)
            object.size = content.size
            object.isEven = content.size % 2 == 0
            object.bucket = try context.object(with: buckets[content.bucket]) as? Bucket
            return object
        }
        try context.save()
        return objects.map(\.id)
    }
}
