public import FoundationEssentials
public import TandemModel
public import TandemQuery

extension FetchRequest {
    /// Creates a request for the objects of a class that match a typed predicate.
    ///
    /// Throws `usage` for a key path that names no property.
    ///
    ///     let request = try FetchRequest(Team.self, where: \.wins > 3, sort: ["-wins"])
    public init<Object: ManagedEntity>(
        _ type: Object.Type, where predicate: TypedPredicate<Object>, sort: [SortKey] = [],
        limit: Int? = nil, offset: Int = 0, includesSubentities: Bool = true
    ) throws(TandemError) {
        self.init(
            entity: type.entity.name, predicate: try predicate.objectPredicate, sort: sort,
            limit: limit, offset: offset, includesSubentities: includesSubentities)
    }

    /// Creates a request for the objects of a class that match a Foundation predicate.
    ///
    /// Throws the errors of ``TandemQuery/ObjectPredicate/init(_:)``.
    ///
    ///     let request = try FetchRequest(
    ///         Team.self, where: #Predicate { $0.wins > 3 }, sort: ["-wins"])
    public init<Object: ManagedEntity>(
        _ type: Object.Type, where predicate: Predicate<Object>, sort: [SortKey] = [],
        limit: Int? = nil, offset: Int = 0, includesSubentities: Bool = true
    ) throws(TandemError) {
        self.init(
            entity: type.entity.name, predicate: try ObjectPredicate(predicate), sort: sort,
            limit: limit, offset: offset, includesSubentities: includesSubentities)
    }
}
