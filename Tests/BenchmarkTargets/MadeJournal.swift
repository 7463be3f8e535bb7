import TandemIO
import TandemJournal
import TandemModel

/// A journal of updates, written without a daemon, as input for its readers.
public struct MadeJournal {
    private let folder: String
    private let n: Int
    private let bytes: Int

    private static let objects = 1_000

    /// Creates a journal of `n` transactions in a folder, with a text of `bytes` bytes in each row.
    public init(folder: String, n: Int, bytes: Int) {
        self.folder = folder
        self.n = n
        self.bytes = bytes
    }

    /// Writes the journal: a model, a thousand inserts, and updates of one number each.
    ///
    /// Ten of the updates also insert one object of a rare entity and one of the common entity;
    /// neither is changed later.
    public func run() throws {
        let model = try CompiledModel(
            try ManagedObjectModel(
                parsing: """
                    {"entities": {"Team": {"attributes": {"name": {"type": "string"},
                        "wins": {"type": "int"}, "zone": {"type": "string"}}},
                        "Rare": {"attributes": {"name": {"type": "string"}}}}}
                    """))
        guard let entity = model.entity(named: "Team"), let rare = model.entity(named: "Rare")
        else { preconditionFailure("the model has both entities") }
        var options = JournalOptions()
        options.durability = .relaxed
        let (journal, _) = try Journal.open(
            directory: folder + "/journal", fileSystem: RealFileSystem(), options: options,
            identityIfNew: LogIdentity(high: 1, low: 2), appliedPosition: nil)
        var writer = ByteWriter()
        model.encode(into: &writer)
        try append([.model(writer.bytes)], to: journal)
        for start in stride(from: 0, to: n, by: 64) {
            let numbers = start..<min(start + 64, n)
            try append(
                numbers.map { number in
                    .objects(
                        [change(number, entity, model.version)]
                            + [entity, rare].compactMap { self.rare(number, $0, model.version) })
                }, to: journal)
        }
        try journal.close()
    }

    private func append(_ contents: [Transaction.Content], to journal: Journal) throws {
        var batch = BatchBuilder()
        for (index, content) in contents.enumerated() {
            let position = journal.bounds.last + 1 + UInt64(index)
            let transaction = Transaction(
                position: position, time: 1_790_000_000_000_000 + Int64(position) * 1_000,
                principal: Principal(
                    author: position.isMultiple(of: 1_000) ? "rare" : "worldcup play",
                    context: "main", uid: 1_000, gid: 1_000, pid: 4_711),
                content: content)
            batch.append(transaction.encoded().bytes)
        }
        try journal.append(expected: journal.bounds.last, batch: &batch)
    }

    /// Returns an insert for the middle of each tenth of the journal.
    private func rare(_ number: Int, _ entity: CompiledEntity, _ version: UInt16) -> Change? {
        let tenth = max(n / 10, 1)
        guard number >= Self.objects, number % tenth == tenth / 2 else { return nil }
        let object = ObjectReference(
            tag: entity.tag, number: UInt64(Self.objects * Int(entity.tag) + 1 + number / tenth))
        let values = entity.properties.map {
            $0.name == "wins" ? PropertyValue.int(1) : PropertyValue.string("rare")
        }
        return Change(
            .insert, object, changed: entity.allSlots,
            row: Row(values, of: entity, version: version))
    }

    private func change(_ number: Int, _ entity: CompiledEntity, _ version: UInt16) -> Change {
        let (round, index) = number.quotientAndRemainder(dividingBy: Self.objects)
        let wins = entity.slot(of: "wins") ?? 0
        var values = [PropertyValue](repeating: .null, count: entity.properties.count)
        values[entity.slot(of: "name") ?? 0] = .string(String(repeating: "n", count: bytes))
        values[entity.slot(of: "zone") ?? 0] = .string("Africa")
        values[wins] = .int(Int64(round))
        let row = Row(values, of: entity, version: version)
        let object = ObjectReference(tag: entity.tag, number: UInt64(index + 1))
        if round == 0 {
            return Change(.insert, object, changed: entity.allSlots, row: row)
        }
        return Change(
            .update, object, changed: PropertyMask([wins]), row: row,
            before: [SlotValue(slot: wins, value: .int(Int64(round - 1)))])
    }
}
