public import FoundationEssentials
import TandemModel
public import TandemQuery

/// A request for the objects of a class that match a condition, in a given order.
///
///     let strong = FetchRequest(where: \Team.wins > 3, sort: [.descending(\.wins)], limit: 10)
///     let teams = try context.fetch(strong)
///     let count = try context.count(for: strong)
///
/// Tools without classes name the entity: `FetchRequest(entity: "Team")`. Ties in the order are
/// broken by object number, which also determines the order if there are no sort keys. A key path
/// or text that can't be translated is reported when the request is used.
public struct FetchRequest<Object: ManagedObject>: Hashable, Sendable {
    /// The entity's name.
    public let entity: String
    /// The sort order.
    public var sort: [SortKey<Object>]
    /// The maximum number of objects; nil for all.
    ///
    /// A results controller with a limit or an offset does O(limit + offset) work for every merge
    /// that changes its list.
    public var limit: Int?
    /// The number of objects to skip.
    public var offset: Int
    /// Whether objects of entities that inherit from ``entity`` are included.
    public var includesSubentities: Bool
    private var condition: Result<ObjectPredicate?, TandemError>

    fileprivate init(
        _ entity: String, _ condition: Result<ObjectPredicate?, TandemError>,
        _ sort: [SortKey<Object>], _ limit: Int?, _ offset: Int, _ includesSubentities: Bool
    ) {
        (self.entity, self.condition, self.sort) = (entity, condition, sort)
        (self.limit, self.offset) = (limit, offset)
        self.includesSubentities = includesSubentities
    }

    /// The condition; nil matches everything.
    ///
    /// Also nil if the condition can't be translated. Using the request then throws the error,
    /// until a different predicate is set.
    public var predicate: ObjectPredicate? {
        get { try? condition.get() }
        set { condition = .success(newValue) }
    }

    /// The same request for objects of any class.
    package var untyped: FetchRequest<ManagedObject> {
        FetchRequest<ManagedObject>(
            entity, condition, sort.map { $0.untyped }, limit, offset, includesSubentities)
    }

    /// The request in the form that is sent to the daemon.
    ///
    /// Throws the error of the condition or of a sort key that can't be translated.
    package var descriptor: FetchDescriptor {
        get throws(TandemError) {
            var keys: [SortComponent] = []
            for key in sort { keys.append(try key.component) }
            return FetchDescriptor(
                entity: entity, predicate: try condition.get(), sort: keys, limit: limit,
                offset: offset, includesSubentities: includesSubentities)
        }
    }
}

extension FetchRequest where Object: ManagedEntity {
    /// Creates a request for the objects of a class that match a condition in any form
    /// (``PredicateSource``).
    ///
    ///     FetchRequest(Team.self, where: #Predicate { $0.wins > 3 }, sort: [.descending(\.wins)])
    ///     FetchRequest(Team.self, where: .text("wins > %@", 3))
    public init<Condition: PredicateSource>(
        _ type: Object.Type = Object.self, where condition: Condition,
        sort: [SortKey<Object>] = [], limit: Int? = nil, offset: Int = 0,
        includesSubentities: Bool = true
    ) where Condition.Evaluation == (Object) throws -> Bool {
        self.init(
            type.entity.name, Self.translation(of: condition), sort, limit, offset,
            includesSubentities)
    }

    private static func translation(
        of condition: some PredicateSource
    ) -> Result<ObjectPredicate?, TandemError> {
        Result { () throws(TandemError) in try condition.objectPredicate }
    }

    /// Creates a request for the objects of a class, or for those that match a condition on key
    /// paths.
    ///
    ///     FetchRequest(Team.self, sort: [.descending(\.wins)])
    ///     FetchRequest(Team.self, where: \.wins > 3 && \.zone == "Africa")
    ///     FetchRequest(where: \Team.wins > 3)
    public init(
        _ type: Object.Type = Object.self, where condition: TypedPredicate<Object>? = nil,
        sort: [SortKey<Object>] = [], limit: Int? = nil, offset: Int = 0,
        includesSubentities: Bool = true
    ) {
        self.init(
            type.entity.name, condition.map(Self.translation) ?? .success(nil), sort, limit,
            offset, includesSubentities)
    }

    /// Creates a request for the objects that match a `#Predicate`, which names the class.
    ///
    ///     FetchRequest(where: #Predicate<Team> { $0.wins > 3 })
    public init(
        where condition: Predicate<Object>, sort: [SortKey<Object>] = [], limit: Int? = nil,
        offset: Int = 0, includesSubentities: Bool = true
    ) {
        self.init(
            Object.self, where: condition, sort: sort, limit: limit, offset: offset,
            includesSubentities: includesSubentities)
    }
}

extension FetchRequest where Object == ManagedObject {
    /// Creates a request for the objects of an entity, for code that has no classes.
    ///
    ///     let request = FetchRequest(entity: "Team", sort: ["-wins"])
    public init(
        entity: String, predicate: ObjectPredicate? = nil, sort: [SortKey<ManagedObject>] = [],
        limit: Int? = nil, offset: Int = 0, includesSubentities: Bool = true
    ) {
        self.init(entity, .success(predicate), sort, limit, offset, includesSubentities)
    }
}

extension FetchRequest {
    /// The class to register with a context that uses the request; nil for any class.
    var objectClass: (any ManagedEntity.Type)? { Object.self as? any ManagedEntity.Type }
}
