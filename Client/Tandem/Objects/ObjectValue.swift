public import TandemModel
import TandemQuery

/// The id of an object, together with the object's class.
///
/// It may leave the context's actor, and identifies an object of that class in any other context.
///
///     let id = team.typedID                       // of the view context
///     try await container.withContext { try $0.existingObject(with: id).wins += 1 }
public struct TypedID<Object: ManagedEntity>: Hashable, Sendable, CustomStringConvertible {
    /// The id.
    public let id: ObjectID

    /// Creates the typed form of an id; tests and previews may invent the id.
    ///
    /// The class is checked when the object is requested.
    public init(_ id: ObjectID) { self.id = id }

    /// The printed id, such as `Team/33`.
    public var description: String { id.description }
}

extension ManagedEntity {
    /// The id, together with the class.
    public var typedID: TypedID<Self> { TypedID(id) }
}

/// A value that an app makes from an object, such as the content of a table row or a job's input.
///
/// The value is Sendable, so it may leave the context's actor, unlike objects. A preview can create
/// it without a container. If there are many values, declare properties with `let`: a struct with
/// `var` properties is copied by the compiler after each init.
///
///     struct TeamRow: ObjectValue {
///         let id: TypedID<Team>
///         let name: String
///         init(_ team: RowReader<Team>) { (id, name) = (team.typedID, team.name) }
///     }
///     let request = FetchRequest(where: \Team.wins > 3, sort: [.descending(\.wins)])
///     let rows = try await context.fetchValues(TeamRow.self, for: request)
public protocol ObjectValue: Sendable {
    /// The class of the objects that the values are made from.
    associatedtype Object: ManagedEntity
    /// Creates the value from an object's current state, pending edits included; may block to load
    /// a fault.
    init(_ row: RowReader<Object>)
}
