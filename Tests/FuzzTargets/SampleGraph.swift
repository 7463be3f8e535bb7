import FoundationEssentials
import TandemModel
import TandemQuery

/// A small graph in memory with every type of attribute and kind of relationship, and unusual
/// values.
struct SampleGraph: GraphReader {
    let model: CompiledModel
    private(set) var rows: [ObjectReference: Row] = [:]
    private var links: [ObjectReference: [ObjectReference]] = [:]
    /// The objects in the order in which they were added.
    private(set) var objects: [ObjectReference] = []

    /// The graph shared by all targets; nil only if its model is invalid.
    static let shared = try? SampleGraph()

    /// Returns the graph; throws a finding if there is none.
    static func get() throws -> SampleGraph {
        guard let shared else { throw FuzzFinding("the sample graph cannot be created") }
        return shared
    }

    private init() throws {
        model = try CompiledModel(sampleModel)
        try add("League", ["name": .string("Süd")])
        try add("Team", SampleGraph.teamValues)
        try add(
            "ProTeam",
            ["name": .string(""), "wins": .int(.max), "rate": .double(-.infinity), "rank": .int(0)])
        try add(
            "Team",
            ["name": .string("ß"), "wins": .int(.min), "rate": .double(.leastNonzeroMagnitude)])
        try add(
            "Player", ["name": .string("Ann"), "goals": .int(3), "team": .reference(objects[1])])
        try add("Player", ["goals": .int(-1), "team": .reference(objects[1])])
        try add("Tag", ["name": .string("hot")])
        links[objects[0]] = [objects[1], objects[2]]
        links[objects[1]] = [objects[4], objects[5], objects[6]]
        links[objects[6]] = [objects[1]]
    }

    private mutating func add(_ name: String, _ values: [String: PropertyValue]) throws {
        guard let entity = model.entity(named: name) else { throw FuzzFinding("no \(name)") }
        let object = ObjectReference(tag: entity.tag, number: UInt64(objects.count + 1))
        rows[object] = Row(
            entity.properties.map { values[$0.name] ?? .null }, of: entity, version: 1)
        objects.append(object)
    }

    func row(of object: ObjectReference) -> RowLookup {
        rows[object].map { .row($0) } ?? .missing
    }

    func members(
        of object: ObjectReference, _ relationship: CompiledRelationship, slot: Int
    ) -> [ObjectReference]? {
        links[object]?.filter { member in
            guard let entity = model.entity(tagged: member.tag) else { return false }
            return entity.tag == relationship.destination
                || entity.ancestors.contains(relationship.destination)
        } ?? []
    }

    private static let teamValues: [String: PropertyValue] = [
        "name": .string("Ghana"), "wins": .int(3), "rate": .double(0.5),
        "price": .decimal(Decimal(string: "12.50") ?? 0), "founded": .date(-1_000.25),
        "active": .bool(true),
        "code": .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6))),
        "site": .url("https://example.org/"), "blob": .data([0, 255, 1]),
        "league": .reference(ObjectReference(tag: 1, number: 1)), "rank": .int(7),
    ]
}
