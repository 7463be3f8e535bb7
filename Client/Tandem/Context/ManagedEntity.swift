public import TandemModel

/// A class whose instances represent the objects of an entity.
///
///     final class Team: ManagedObject, ManagedEntity {
///         static var entity: Entity {
///             Entity("Team") {
///                 Attribute("name", .string, optional: false)
///                 Attribute("wins", .int, default: .int(0))
///                 Relationship("players", to: "Player", inverse: "team", toMany: true)
///             }
///         }
///         @Managed("name") var name: String
///         @Managed("wins") var wins: Int
///         @Managed("players") var players: Set<Player>
///     }
public protocol ManagedEntity: ManagedObject, SendableMetatype {
    /// The declared entity.
    static var entity: Entity { get }
}

extension ManagedObjectModel {
    /// Creates the model of the entities that classes declare.
    ///
    ///     let model = ManagedObjectModel(Team.self, Player.self)
    public init(_ types: any ManagedEntity.Type...) {
        self.init(entities: types.map { $0.entity })
    }
}
