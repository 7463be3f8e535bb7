public import TandemModel
public import TandemQuery

/// Deletes all objects of a fetch request, in the daemon.
///
///     let result = try context.execute(BatchDeleteRequest(Team.self, where: "wins < 1"))
///
/// It is worked off as several transactions of at most 1,000 objects between the saves of others, so it is not atomic as a
/// whole. The objects are those that the request picks once the daemon has found them; one that others change before its turn is judged again.
/// Delete rules apply in each transaction by itself. The request may have a limit, with its order, but no offset.
public struct BatchDeleteRequest: Hashable, Sendable {
    /// Which objects.
    public var fetchRequest: FetchRequest

    /// Deletes what a request picks.
    public init(_ fetchRequest: FetchRequest) { self.fetchRequest = fetchRequest }

    /// Deletes the objects of a class that match.
    ///
    /// Throws `invalidPredicate`.
    public init<Object: ManagedEntity>(
        _ type: Object.Type, where format: String? = nil, _ arguments: [PredicateArgument] = []
    ) throws {
        self.init(try FetchRequest(batchOf: type.entity.name, format, arguments))
    }
}

/// Sets the same values in all objects of a fetch request, in the daemon; see ``BatchDeleteRequest``.
///
///     try context.execute(BatchUpdateRequest(Team.self, where: "zone = %@", ["Africa"], set: ["wins": 0]))
public struct BatchUpdateRequest: Hashable, Sendable {
    /// Which objects.
    public var fetchRequest: FetchRequest
    /// What is set: attributes and to-one relationships; no value of more than 64 KiB.
    public var values: BatchValues

    /// Changes what a request picks.
    public init(_ fetchRequest: FetchRequest, set values: BatchValues) {
        self.fetchRequest = fetchRequest
        self.values = values
    }

    /// Changes the objects of a class that match.
    ///
    /// Throws `invalidPredicate`.
    public init<Object: ManagedEntity>(
        _ type: Object.Type, where format: String? = nil, _ arguments: [PredicateArgument] = [],
        set values: BatchValues
    ) throws {
        self.init(try FetchRequest(batchOf: type.entity.name, format, arguments), set: values)
    }
}

/// Inserts an object for each row, in the daemon, without making objects of them here.
///
///     let rows = lines.lazy.map { BatchValues(["name": .string($0)]) }
///     try context.execute(BatchInsertRequest(entity: "Team", rows: rows))
///
/// Rows are taken from the sequence as they are sent, at most 1,000 or about a MiB at a time. The daemon inserts these in transactions between
/// the saves of others, so it is not atomic as a whole. A row can't lead to another one of the batch, as it has no id yet.
public struct BatchInsertRequest<Rows: Sequence> where Rows.Element == BatchValues {
    /// The entity's name.
    public var entity: String
    /// What is set in each object; relationships lead to objects that exist.
    public var rows: Rows
    /// What happens where an existing object has the unique values of a row.
    public var policy: MergePolicy

    /// Inserts objects of an entity.
    public init(entity: String, rows: Rows, policy: MergePolicy = .error) {
        self.entity = entity
        self.rows = rows
        self.policy = policy
    }
}

extension BatchInsertRequest: Sendable where Rows: Sendable {}

extension FetchRequest {
    fileprivate init(
        batchOf entity: String, _ format: String?, _ arguments: [PredicateArgument]
    ) throws {
        let predicate = try format.map { try ObjectPredicate(format: $0, arguments: arguments) }
        self.init(entity: entity, predicate: predicate)
    }
}
