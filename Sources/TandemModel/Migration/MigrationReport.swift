/// The effect of a model change on the stored objects, determined before anything is written.
///
/// It prints with a line for each difference of the models and for each violated rule.
public struct MigrationReport: Hashable, Sendable, CustomStringConvertible {
    /// One difference, and the number of objects and values that it affects.
    package struct Item: Hashable, Sendable {
        /// The difference.
        package var difference: ModelDifference
        /// The number of affected objects.
        package var objects: Int
        /// The number of lost values or, for a dropped entity, lost objects.
        package var lost: Int

        /// Creates an item.
        package init(_ difference: ModelDifference, objects: Int = 0, lost: Int = 0) {
            self.difference = difference
            self.objects = objects
            self.lost = lost
        }
    }

    /// A rule of the new model that stored objects violate.
    package struct Problem: Hashable, Sendable, CustomStringConvertible {
        /// The entity that declares the rule.
        package var entity: String
        /// The property, or the properties of a uniqueness constraint.
        package var property: String
        /// A message about the first violation.
        package var message: String
        /// The number of objects that violate the rule.
        package var count: Int
        /// Some of these objects, at most ``MigrationReport/objectsNamed``.
        package var objects: [ObjectID]

        /// Creates a problem.
        package init(
            entity: String, property: String, message: String, count: Int, objects: [ObjectID]
        ) {
            self.entity = entity
            self.property = property
            self.message = message
            self.count = count
            self.objects = objects
        }

        /// The problem on one line, such as
        /// `Team.name: a value is required (3 objects: Team/1, Team/2, Team/3)`.
        package var description: String {
            let names = objects.map(\.description).joined(separator: ", ")
            let more = count > objects.count ? ", …" : ""
            return "\(entity).\(property): \(message) "
                + "(\(count) object\(count == 1 ? "" : "s"): \(names)\(more))"
        }
    }

    /// The maximum number of objects named for one problem.
    package static let objectsNamed = 10

    /// The differences, sorted by name.
    package var items: [Item] = []
    /// The new rules that stored objects violate; if there are any, the change is rejected.
    package var problems: [Problem] = []
    /// The number of objects that are rewritten.
    public package(set) var rewritten = 0

    /// Creates an empty report.
    package init() {}

    /// Whether the change is possible with the currently stored objects.
    public var isPossible: Bool {
        problems.isEmpty && items.allSatisfy { $0.difference.effect != .impossible }
    }

    /// The total number of lost values and objects.
    public var lost: Int { items.reduce(0) { $0 + $1.lost } }

    /// The differences with the number of objects that each affects, and the violated rules, in
    /// lines such as `Team.wins: dropped (its values are lost), 7 objects, 7 lost`.
    public var description: String {
        let differences = items.map { item in
            let objects = item.objects == 1 ? "1 object" : "\(item.objects) objects"
            return "\(item.difference)" + (item.objects > 0 ? ", \(objects)" : "")
                + (item.lost > 0 ? ", \(item.lost) lost" : "")
        }
        let lines = differences + problems.map(\.description)
        return lines.isEmpty ? "no differences" : lines.joined(separator: "\n")
    }
}

// MARK: JSON

extension MigrationReport {
    /// The report as a JSON object: `differences`, `problems`, `rewritten`.
    package var json: JSON {
        .object([
            "differences": .array(
                items.map { item in
                    var members = item.difference.json.object ?? [:]
                    members["objects"] = .int(Int64(item.objects))
                    members["lost"] = .int(Int64(item.lost))
                    return .object(members)
                }),
            "problems": .array(problems.map(\.json)),
            "rewritten": .int(Int64(rewritten)),
        ])
    }

    /// Reads the JSON form; returns nil for anything else.
    package init?(json: JSON) {
        guard let differences = json["differences"]?.array, let found = json["problems"]?.array,
            let rewritten = json["rewritten"]?.int
        else { return nil }
        for member in differences {
            guard let difference = ModelDifference(json: member),
                let objects = member["objects"]?.int, let lost = member["lost"]?.int
            else { return nil }
            items.append(Item(difference, objects: Int(objects), lost: Int(lost)))
        }
        for member in found {
            guard let problem = Problem(json: member) else { return nil }
            problems.append(problem)
        }
        self.rewritten = Int(rewritten)
    }
}

extension MigrationReport.Problem {
    fileprivate var json: JSON {
        .object([
            "entity": .string(entity), "property": .string(property),
            "message": .string(message), "count": .int(Int64(count)),
            "objects": .array(objects.map { .string($0.description) }),
        ])
    }

    fileprivate init?(json: JSON) {
        guard let entity = json["entity"]?.string, let property = json["property"]?.string,
            let message = json["message"]?.string, let count = json["count"]?.int,
            let objects = json["objects"]?.array
        else { return nil }
        self.init(
            entity: entity, property: property, message: message, count: Int(count),
            objects: objects.compactMap { $0.string.flatMap { ObjectID($0) } })
    }
}

extension ModelDifference {
    /// Reads the JSON form; returns nil for anything else.
    package init?(json: JSON) {
        guard let entity = json["entity"]?.string,
            let aspect = json["what"]?.string.flatMap(Aspect.init(rawValue:)),
            let effect = json["effect"]?.string.flatMap(Effect.init(rawValue:)),
            let why = json["why"]?.string
        else { return nil }
        self.init(
            entity, json["property"]?.string, aspect, from: json["from"]?.string,
            to: json["to"]?.string, effect, why)
    }
}
