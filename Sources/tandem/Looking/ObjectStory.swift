import Tandem

/// What the journal says of one object, newest first.
struct ObjectStory {
    let id: ObjectID
    let source: any LogSource
    private let reader: LogReader

    /// Throws `unknownEntity` for an object of no entity of the store.
    init(_ text: String, _ source: any LogSource) throws {
        id = try LogMatchOptions.object(text)
        self.source = source
        var filter = LogFilter()
        filter.objects = [id]
        if let model = try source.newestModel() {
            try filter.check(model)
            // What was saved under an earlier name is part of the story.
            filter.names = NewestNames(newest: model)
        }
        reader = LogReader(source: source, filter: filter)
    }

    /// A change of the object, with its transaction cut down to it.
    struct Step {
        let entry: LogEntry
        let change: Change
        let entity: CompiledEntity?
    }

    /// The changes up to a position, until `body` gives false; returns the oldest position that is kept.
    @discardableResult
    func backwards(through top: UInt64? = nil, _ body: (Step) throws -> Bool) throws -> UInt64 {
        let (first, last) = try source.bounds()
        try reader.backwards(after: first - 1, through: min(top ?? last, last)) { entry, _ in
            try self.step(entry).map(body) ?? true
        }
        return first
    }

    /// The changes behind a position and up to another, oldest first.
    func forwards(
        after floor: UInt64 = 0, through top: UInt64 = .max, _ body: (Step) throws -> Bool
    ) throws {
        let (first, last) = try source.bounds()
        try reader.forwards(after: max(floor, first - 1), through: min(top, last)) { entry in
            try step(entry).map(body) ?? true
        }
    }

    private func step(_ entry: LogEntry) -> Step? {
        let change = entry.transaction.changes.first { $0.object.number == id.number }
        guard let change else { return nil }
        var transaction = entry.transaction
        transaction.content = .objects([change])
        let cut = LogEntry(transaction: transaction, cursor: entry.cursor, model: entry.model)
        return Step(entry: cut, change: change, entity: entry.entity(of: change))
    }
}
