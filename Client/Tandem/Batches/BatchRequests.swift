public import TandemModel
import TandemQuery

/// A request for the daemon to delete all objects that a fetch request selects.
///
///     let result = try context.execute(BatchDeleteRequest(Team.self, where: \.wins < 1))
///
/// The daemon processes the batch as several transactions of at most 1,000 objects, interleaved
/// with other saves. The batch as a whole is therefore not atomic. It affects the objects that
/// match when the daemon evaluates the request. If another save changes an object before the batch
/// reaches it, the object is evaluated again. Delete rules apply within each transaction. The fetch
/// request may have an order and a limit, but no offset.
public struct BatchDeleteRequest: Hashable, Sendable {
    /// The request that selects the objects.
    package var fetchRequest: FetchRequest<ManagedObject>

    /// Creates a request that deletes the objects that a fetch request selects.
    public init<Object: ManagedObject>(_ fetchRequest: FetchRequest<Object>) {
        self.fetchRequest = fetchRequest.untyped
    }

    /// Creates a request that deletes the objects of a class, or those that match a condition on
    /// key paths.
    public init<Object: ManagedEntity>(
        _ type: Object.Type, where condition: TypedPredicate<Object>? = nil
    ) {
        self.init(FetchRequest(type, where: condition))
    }

    /// Creates a request that deletes the objects of a class that match a condition in any form.
    public init<Object: ManagedEntity, Condition: PredicateSource>(
        _ type: Object.Type, where condition: Condition
    ) where Condition.Evaluation == (Object) throws -> Bool {
        self.init(FetchRequest(type, where: condition))
    }
}

/// A request for the daemon to set the same values in all objects that a fetch request selects; see
/// ``BatchDeleteRequest``.
///
///     try context.execute(
///         BatchUpdateRequest(Team.self, where: \.zone == "Africa", set: ["wins": 0]))
public struct BatchUpdateRequest: Hashable, Sendable {
    /// The request that selects the objects.
    package var fetchRequest: FetchRequest<ManagedObject>
    /// The values to set: attributes and to-one relationships, none larger than 64 KiB.
    package var values: BatchValues

    /// Creates a request that updates the objects that a fetch request selects.
    public init<Object: ManagedObject>(
        _ fetchRequest: FetchRequest<Object>, set values: BatchValues
    ) {
        self.fetchRequest = fetchRequest.untyped
        self.values = values
    }

    /// Creates a request that updates the objects of a class that match a condition on key paths.
    public init<Object: ManagedEntity>(
        _ type: Object.Type, where condition: TypedPredicate<Object>, set values: BatchValues
    ) {
        self.init(FetchRequest(type, where: condition), set: values)
    }

    /// Creates a request that updates the objects of a class that match a condition in any form.
    public init<Object: ManagedEntity, Condition: PredicateSource>(
        _ type: Object.Type, where condition: Condition, set values: BatchValues
    ) where Condition.Evaluation == (Object) throws -> Bool {
        self.init(FetchRequest(type, where: condition), set: values)
    }
}

/// A request for the daemon to insert an object for each row, without creating objects in the
/// context.
///
///     let rows = lines.lazy.map { BatchValues(["name": .string($0)]) }
///     try context.execute(BatchInsertRequest(entity: "Team", rows: rows))
///
/// Rows are read from the sequence as they are sent, in chunks of at most 1,000 rows or about 1
/// MiB. The daemon inserts them in transactions interleaved with other saves, so the batch as a
/// whole is not atomic. A row can't refer to another row of the batch, which has no id yet.
public struct BatchInsertRequest<Rows: Sequence> where Rows.Element == BatchValues {
    /// The entity's name.
    package var entity: String
    /// The values of each object; relationships may refer to existing objects only.
    package var rows: Rows
    /// The policy for a row whose unique values an existing object already has.
    package var policy: MergePolicy

    /// Creates a request that inserts objects of an entity.
    public init(entity: String, rows: Rows, policy: MergePolicy = .error) {
        self.entity = entity
        self.rows = rows
        self.policy = policy
    }
}

extension BatchInsertRequest: Sendable where Rows: Sendable {}
