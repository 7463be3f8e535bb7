import Tandem

/// A team of the tournament, with its wins so far.
final class Team: ManagedObject, ManagedEntity {
    static var entity: Entity {
        Entity("Team", uniqueness: [["name"]], indexes: [["zone", "wins", "name"]]) {
            Attribute("name", .string, optional: false, min: 1)
            Attribute("zone", .string, optional: false, min: 1)
            Attribute("group", .string)
            Attribute("imageName", .string)
            Attribute("wins", .int, optional: false, default: .int(0), min: 0)
        }
    }

    @Managed("name") var name: String
    @Managed("zone") var zone: String
    @Managed("group") var group: String?
    @Managed("imageName") var imageName: String?
    @Managed("wins") var wins: Int
}

extension FetchRequest<Team> {
    /// The request for the table: teams by zone, then by wins (most first), then by name.
    static var table: FetchRequest<Team> {
        FetchRequest(sort: [.ascending(\.zone), .descending(\.wins), .ascending(\.name)])
    }
}
