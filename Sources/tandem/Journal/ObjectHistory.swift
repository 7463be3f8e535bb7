import Tandem

/// The changes to one object in the journal.
struct ObjectHistory {
    let id: ObjectID
    let source: any LogSource
    private let reader: LogReader

    /// Creates the history of an object; throws `unknownEntity` if the store lacks its entity.
    init(_ text: String, _ source: any LogSource) throws {
        id = try LogMatchOptions.object(text)
        self.source = source
        var filter = LogFilter()
        filter.objects = [id]
        if let model = try source.newestModel() {
            try filter.check(model)
            // Transactions saved under a former name belong to the history.
            filter.names = TransactionNames(newest: model)
        }
        reader = LogReader(source: source, filter: filter)
    }

    /// A change to the object, and the transaction reduced to this change.
    struct Step {
        let entry: LogEntry
        let change: Change
        let entity: CompiledEntity?
    }

    /// Passes the changes up to a position to `body`, newest first, until it returns false.
    ///
    /// Returns the first position of the journal.
    @discardableResult
    func backwards(through top: UInt64? = nil, _ body: (Step) throws -> Bool) throws -> UInt64 {
        let (first, last) = try source.bounds()
        try reader.backwards(after: first - 1, through: min(top ?? last, last)) { entry, _ in
            try self.step(entry).map(body) ?? true
        }
        return first
    }

    /// Passes the changes in a range to `body`, oldest first, until it returns false.
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
