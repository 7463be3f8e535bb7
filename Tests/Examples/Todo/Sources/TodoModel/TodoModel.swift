public import Tandem

/// A list of things to do.
public final class List: ManagedObject, ManagedEntity {
    /// The entity with its properties.
    public static var entity: Entity {
        Entity("List", uniqueness: [["name"]]) {
            Attribute("name", .string, optional: false)
            Relationship("items", to: "Item", inverse: "list", toMany: true, deleteRule: .cascade)
        }
    }

    /// The name, which is unique.
    @Managed("name") public var name: String
    /// The things to do.
    @Managed("items") public var items: Set<Item>
}

/// A thing to do.
public final class Item: ManagedObject, ManagedEntity {
    /// The entity with its properties.
    public static var entity: Entity {
        Entity("Item", indexes: [["title"]]) {
            Attribute("title", .string, optional: false, min: 1)
            Attribute("priority", .int, optional: false, default: .int(0))
            Attribute("isDone", .bool, optional: false, default: .bool(false))
            Relationship("list", to: "List", inverse: "items", optional: false)
        }
    }

    /// The description of the thing.
    @Managed("title") public var title: String
    /// The priority; higher ones come first.
    @Managed("priority") public var priority: Int
    /// Whether it was done.
    @Managed("isDone") public var isDone: Bool
    /// The list that contains it.
    @Managed("list") public var list: List?
}
