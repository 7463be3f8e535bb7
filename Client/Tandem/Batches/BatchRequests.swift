public import TandemModel
public import TandemQuery

/// Deletes all objects of a fetch request, in the daemon.
///
///     let result = try context.execute(BatchDeleteRequest(Team.self, where: "wins < 1"))
///
/// The daemon processes the batch as several transactions of at most 1,000 objects, interleaved
/// with other saves. The batch as a whole is therefore not atomic. It affects the objects that
/// match when the daemon evaluates the request. An object that another save changes before its turn
/// is evaluated again. Delete rules apply within each transaction. The request may have a limit,
/// with its order, but no offset.
public struct BatchDeleteRequest: Hashable, Sendable {
    /// The request that selects the objects.
    public var fetchRequest: FetchRequest

    /// Creates a request that deletes the objects of a fetch request.
    public init(_ fetchRequest: FetchRequest) { self.fetchRequest = fetchRequest }

    /// Creates a request that deletes the matching objects of a class.
    ///
    /// Throws `invalidPredicate` if the format is invalid.
    public init<Object: ManagedEntity>(
        _ type: Object.Type, where format: String? = nil, _ arguments: [PredicateArgument] = []
    ) throws {
        self.init(try FetchRequest(batchOf: type.entity.name, format, arguments))
    }
}

/// Sets the same values in all objects of a fetch request, in the daemon; see
/// ``BatchDeleteRequest``.
///
///     let request = try BatchUpdateRequest(Team.self, where: "zone = 'Africa'", set: ["wins": 0])
///     try context.execute(request)
public struct BatchUpdateRequest: Hashable, Sendable {
    /// The request that selects the objects.
    public var fetchRequest: FetchRequest
    /// The values to set: attributes and to-one relationships, none larger than 64 KiB.
    public var values: BatchValues

    /// Creates a request that updates the objects of a fetch request.
    public init(_ fetchRequest: FetchRequest, set values: BatchValues) {
        self.fetchRequest = fetchRequest
        self.values = values
    }

    /// Creates a request that updates the matching objects of a class.
    ///
    /// Throws `invalidPredicate` if the format is invalid.
    public init<Object: ManagedEntity>(
        _ type: Object.Type, where format: String? = nil, _ arguments: [PredicateArgument] = [],
        set values: BatchValues
    ) throws {
        self.init(try FetchRequest(batchOf: type.entity.name, format, arguments), set: values)
    }
}

/// Inserts an object for each row, in the daemon, without creating objects in the context.
///
///     let rows = lines.lazy.map { BatchValues(["name": .string($0)]) }
///     try context.execute(BatchInsertRequest(entity: "Team", rows: rows))
///
/// Rows are read from the sequence while they are sent, at most 1,000 or about a MiB at a time. The
/// daemon inserts them in transactions interleaved with other saves, so the batch as a whole is not
/// atomic. A row can't refer to another row of the batch, which has no id yet.
public struct BatchInsertRequest<Rows: Sequence> where Rows.Element == BatchValues {
    /// The entity's name.
    public var entity: String
    /// The values of each object; relationships may refer to existing objects only.
    public var rows: Rows
    /// The policy for a row whose unique values an existing object already has.
    public var policy: MergePolicy

    /// Creates a request that inserts objects of an entity.
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
