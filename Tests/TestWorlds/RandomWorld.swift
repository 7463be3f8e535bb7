package import Tandem
import TandemModel
import TandemQuery

/// A world with every kind of relationship, writers with random edits, and a reader with
/// controllers.
@MainActor package final class RandomWorld {
    /// The context whose lists are watched.
    package let reader: ManagedObjectContext
    let writers: [ManagedObjectContext]
    private let containers: [PersistentContainer]

    /// Returns a model of random shape that contains everything to which the requests refer.
    ///
    /// Delete rules, indexes, further attributes (which shift the slots of others), the depth of
    /// inheritance, and relationships of every kind in addition to the observed ones are random.
    package nonisolated static func model(_ random: inout SplitMix) -> ManagedObjectModel {
        func rule() -> DeleteRule {
            [DeleteRule.nullify, .nullify, .nullify, .cascade, .noAction][random.next(5)]
        }
        let depth = random.next(3)
        let extras = (0..<random.next(4)).map { Attribute("a\($0)", .string) }
        var model = ManagedObjectModel {
            Entity("Owner") {
                Attribute("name", .string)
                extras
                Relationship(
                    "buckets", to: "Bucket", inverse: "owner", toMany: true, deleteRule: rule())
                Relationship("seat", to: "Bucket", inverse: "chair")
            }
            Entity("Bucket", indexes: random.next(2) == 0 ? [["name"]] : []) {
                Attribute("name", .string)
                Attribute("rank", .int)
                Relationship("owner", to: "Owner", inverse: "buckets", deleteRule: rule())
                Relationship("chair", to: "Owner", inverse: "seat")
                Relationship(
                    "contents", to: "Content", inverse: "bucket", toMany: true, deleteRule: rule())
                if random.next(2) == 0 {
                    Relationship("twin", to: "Bucket", inverse: "twin")
                }
            }
            Entity("Content", indexes: random.next(2) == 0 ? [["size"], ["bucket", "name"]] : []) {
                Attribute("name", .string)
                Attribute("size", .int)
                Attribute("isEven", .bool)
                Attribute("at", .date)
                Attribute("rate", .double)
                extras
                Relationship("bucket", to: "Bucket", inverse: "contents")
                Relationship("tags", to: "Tag", inverse: "contents", toMany: true)
                if random.next(2) == 0 {
                    Relationship("likes", to: "Content", inverse: "likes", toMany: true)
                }
            }
            for level in 0..<depth {
                Entity("Level\(level)", parent: level == 0 ? "Content" : "Level\(level - 1)") {
                    Attribute("b\(level)", .int)
                }
            }
            Entity("Image", parent: depth == 0 ? "Content" : "Level\(depth - 1)") {
                Attribute("width", .int)
            }
            Entity("Tag") {
                Attribute("name", .string)
                Relationship(
                    "contents", to: "Content", inverse: "tags", toMany: true, deleteRule: rule())
            }
            Entity("Box", parent: "Bucket") { Attribute("height", .int) }
            Entity("Label", parent: "Tag") { Attribute("color", .string) }
        }
        if random.next(2) == 0 { model.entities["Spare"] = Entity("Spare") }
        return model
    }

    /// Creates a world; a harsh one has clients with little memory, and a reader that may merge
    /// automatically.
    package init(
        _ transport: Transport, isHarsh: Bool = false, windowSlack: Int = 1,
        _ random: inout SplitMix
    ) throws {
        let model = RandomWorld.model(&random)
        containers = (0..<4).map { number in
            var limits = ClientLimits()
            limits.windowSlack = windowSlack
            if isHarsh {
                limits.connectMilliseconds = 60_000
                limits.recentTransactions = [1, 3, 4_096][random.next(3)]
                limits.cachedRows = [1, 16, 65_536][random.next(3)]
                limits.historyBatch = UInt32(1 + random.next(5))
            }
            return PersistentContainer(
                model: model, author: "c\(number)", transport: transport, limits: limits)
        }
        writers = containers[1...2].map { $0.makeContext(name: "writer") }
        reader = containers[0].makeContext(
            name: "reader", mergesAutomatically: isHarsh && random.next(2) == 0)
        for _ in 0..<6 { try save(&random) }
    }

    /// Pauses the reader, makes the reader load more of the graph, or does nothing.
    package func disturb(_ random: inout SplitMix) throws {
        switch random.next(8) {
        case 0, 1: reader.pause()
        case 2:
            let entity = ["Owner", "Bucket", "Tag"][random.next(3)]
            _ = try reader.fetch(FetchRequest(entity: entity))
        default: break
        }
    }

    /// Returns the end of the journal.
    package func end() throws -> Position {
        try containers[3].makeContext(name: "end").connect()
    }

    /// Returns a dump of the present graph.
    package func dump() throws -> Dump { try Dump(containers[3].makeContext(name: "dump")) }

    /// Returns the violations of the laws by lists whose context is at the end of the journal.
    package func problems(_ watched: [Watch]) throws -> [String] {
        let dump = try dump()
        return try watched.flatMap { try $0.problems(dump) }
    }

    // MARK: Saves

    package nonisolated static let names = ["a", "b", "c", "Ä", "ä", ""]
    package nonisolated static let numbers = [-1.5, 0, 0.25, 2, 1e19]
    /// The entities of edited objects, including subentities of related objects' entities.
    package nonisolated static let entities = [
        "Owner", "Bucket", "Content", "Content", "Image", "Tag", "Box", "Label", "Content",
    ]

    /// Saves some random edits.
    @discardableResult
    package func save(_ random: inout SplitMix) throws -> Position {
        let context = writers[random.next(writers.count)]
        for _ in 0..<(1 + random.next(4)) { try edit(context, &random) }
        return try context.save(policy: .objectTrump)
    }

    /// Rolls back the edits of a failed save.
    package func rollback() {
        for writer in writers { writer.rollback() }
    }

    private func edit(_ context: ManagedObjectContext, _ random: inout SplitMix) throws {
        let entity = RandomWorld.entities[random.next(RandomWorld.entities.count)]
        let all = try context.fetch(FetchRequest(entity: entity))
        let kind = random.next(10)
        if all.count < 3 || kind < 3 {
            try change(try context.insert(entity), context, &random)
        } else if kind == 3 {
            context.delete(all[random.next(all.count)])
        } else {
            try change(all[random.next(all.count)], context, &random)
        }
    }

    private func change(
        _ object: ManagedObject, _ context: ManagedObjectContext, _ random: inout SplitMix
    ) throws {
        let properties = object.entity.properties
        for _ in 0..<(1 + random.next(3)) {
            let property = properties[random.next(properties.count)]
            // Fetching targets may have merged the object's deletion.
            guard !object.isDeleted else { return }
            guard let relationship = property.relationship else {
                object[property.name] = value(property, &random)
                continue
            }
            let targets = try context.fetch(
                FetchRequest(entity: relationship.declaration.destination))
            guard !targets.isEmpty else { continue }
            let target = targets[random.next(targets.count)]
            guard !object.isDeleted, !target.isDeleted else { continue }
            if !property.isToMany {
                object.setObject(random.next(4) == 0 ? nil : target, for: property.name)
            } else if random.next(3) == 0 {
                object.remove(target, from: property.name)
            } else {
                object.add(target, to: property.name)
            }
        }
    }

    private func value(_ property: CompiledProperty, _ random: inout SplitMix) -> PropertyValue {
        if random.next(6) == 0 { return .null }
        switch property.attribute?.type {
        case .int: return .int(Int64(random.next(4)))
        case .bool: return .bool(random.next(2) == 0)
        case .double:
            return .double(RandomWorld.numbers[random.next(RandomWorld.numbers.count)])
        case .date: return .date(RandomWorld.numbers[random.next(RandomWorld.numbers.count)])
        default: return .string(RandomWorld.names[random.next(RandomWorld.names.count)])
        }
    }

    // MARK: Controllers

    /// Returns lists of random shapes over the reader.
    package func controllers(
        count: Int, isLimited: Bool = false, _ random: inout SplitMix
    ) throws -> [Watch] {
        try (0..<count).map { _ in
            let shape = ListShape(isLimited: isLimited, &random)
            return try Watch(shape, reader)
        }
    }
}
