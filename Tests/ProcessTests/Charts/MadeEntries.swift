import Tandem

@testable import tandem

/// Transactions in memory for charts; only their times, authors, entities and numbers of objects
/// matter.
enum MadeEntries {
    private static func model(_ entities: [String]) throws -> CompiledModel {
        let members = entities.map { (JSON.string($0).text) + #": {"attributes": {}}"# }
        return try CompiledModel(
            try ManagedObjectModel(parsing: #"{"entities": {\#(members.joined(separator: ","))}}"#))
    }

    /// Returns a transaction for each description, with `objects` inserted objects.
    static func entries(
        _ transactions: [(time: Int64, author: String, entity: String, objects: Int)]
    ) throws -> [LogEntry] {
        let model = try model(Array(Set(transactions.map(\.entity))).sorted())
        return transactions.enumerated().compactMap { index, made in
            guard let entity = model.entity(named: made.entity) else { return nil }
            let row = Row([], of: entity, version: model.version)
            let changes = (0..<made.objects).map { number in
                Change(
                    .insert, ObjectReference(tag: entity.tag, number: UInt64(number + 1)),
                    changed: PropertyMask(), row: row)
            }
            return LogEntry(
                transaction: Transaction(
                    position: UInt64(index + 1), time: made.time,
                    principal: Principal(author: made.author), content: .objects(changes)),
                cursor: nil, model: model)
        }
    }

    /// Returns a timeline of the described transactions.
    static func timeline(
        _ columns: Int,
        _ transactions: [(time: Int64, author: String, entity: String, objects: Int)]
    ) throws -> Timeline {
        var timeline = Timeline(columns: columns)
        for entry in try entries(transactions) { timeline.add(entry) }
        return timeline
    }
}
