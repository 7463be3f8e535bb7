import Foundation
import Tandem
import TandemIO
import TandemJournal

/// A journal made of given transactions, so that every byte of the output about it is known.
struct MadeJournal {
    let place: Place
    let model: CompiledModel

    /// The directory of the store to which the journal belongs.
    var store: String { place.store }

    private static let text = """
        {"entities": {
            "Team": {"attributes": {"name": {"type": "string"}, "wins": {"type": "int"}},
                "relationships": {"players": {"to": "Player", "toMany": true, "inverse": "team"}}},
            "Player": {"attributes": {"name": {"type": "string"}, "born": {"type": "date"}},
                "relationships": {"team": {"to": "Team", "inverse": "players"}}}}}
        """

    /// 02:30 on 2026-10-25 in Central Europe, in microseconds.
    ///
    /// Summer time ends at 01:00 UTC, so 02:30 occurs twice.
    private static let night: Int64 = 1_792_888_200_000_000

    /// Central European Time as a rule that needs no time zone files.
    static let zone = "CET-1CEST,M3.5.0,M10.5.0/3"

    /// Creates a journal of five transactions.
    ///
    /// They install the model, insert two teams and a player, change the wins of a team, move the
    /// player to the other team, and delete a team.
    init() throws {
        place = try Place()
        model = try CompiledModel(try ManagedObjectModel(parsing: Self.text))
        var writer = ByteWriter()
        model.encode(into: &writer)
        try write([transaction(0, "setup", .model(writer.bytes))] + story, segmentBytes: 1 << 20)
    }

    /// Creates a journal of `count` transactions of about `bytes` bytes each, after that of the
    /// model.
    ///
    /// `second` returns the second of each transaction; by default they are one second apart.
    init(
        transactions count: Int, bytes: Int, segmentBytes: Int = 1 << 20,
        second: @escaping (Int) -> Int = { $0 }
    ) throws {
        place = try Place()
        model = try CompiledModel(try ManagedObjectModel(parsing: Self.text))
        var writer = ByteWriter()
        model.encode(into: &writer)
        let text = String(repeating: "x", count: bytes)
        let made = self
        let inserts = (1...count).lazy.map { number in
            made.transaction(
                Int64(second(number)) * 1_000_000, number.isMultiple(of: 1_000) ? "rare" : "often",
                .objects([made.insert("Team", number, ["name": .string(text), "wins": .int(1)])]),
                saveID: "")
        }
        try write(
            [transaction(0, "setup", .model(writer.bytes), saveID: "")], segmentBytes: segmentBytes)
        try write(inserts, segmentBytes: segmentBytes)
    }

    /// Copies the store of another journal, so that the copy can be changed.
    init(copyOf other: MadeJournal) throws {
        place = try Place()
        model = other.model
        try FileManager.default.copyItem(atPath: other.store, toPath: store)
    }

    /// Appends a later model, in which `Club` inherits from `Team`, and `count` clubs.
    ///
    /// The store has not applied them.
    func addClubs(_ count: Int, segmentBytes: Int) throws {
        let text = Self.text.replacingOccurrences(
            of: #""Player": {"#, with: #""Club": {"parent": "Team"}, "Player": {"#)
        let later = try CompiledModel(try ManagedObjectModel(parsing: text), replacing: model)
        var writer = ByteWriter()
        later.encode(into: &writer)
        guard let club = later.entity(named: "Club") else { return }
        let inserts = (1...count).map { number in
            let row = Row(club.properties.map { _ in .null }, of: club, version: later.version)
            let change = Change(
                .insert, ObjectReference(tag: club.tag, number: UInt64(100_000 + number)),
                changed: PropertyMask([]), row: row, links: [])
            return transaction(0, "clubs", .objects([change]), saveID: "")
        }
        try write(
            [transaction(0, "later", .model(writer.bytes), saveID: "")] + inserts,
            segmentBytes: segmentBytes)
    }

    /// Appends a model whose bytes end too early to be decoded, and a transaction after it.
    func addCutModel() throws {
        var writer = ByteWriter()
        model.encode(into: &writer)
        try write(
            [transaction(0, "setup", .model(writer.bytes))], segmentBytes: 1 << 20, cutBytes: 4)
        let row = insert("Team", 90, ["name": .string("Ghana")])
        try write([transaction(0, "later", .objects([row]))], segmentBytes: 1 << 20)
    }

    private func write(
        _ transactions: some Sequence<Transaction>, segmentBytes: Int, cutBytes: Int = 0
    ) throws {
        var options = JournalOptions()
        options.segmentBytes = segmentBytes
        options.durability = .relaxed
        let (journal, _) = try Journal.open(
            directory: store + "/journal", fileSystem: RealFileSystem(), options: options,
            identityIfNew: LogIdentity(high: 1, low: 2), appliedPosition: nil)
        defer { try? journal.close() }
        for var transaction in transactions {
            transaction.position = journal.bounds.last + 1
            var batch = BatchBuilder()
            batch.append(Array(transaction.encoded().bytes.dropLast(cutBytes)))
            try journal.append(expected: journal.bounds.last, batch: &batch)
        }
    }

    // MARK: Content

    private var story: [Transaction] {
        [
            transaction(
                1_000_000, "setup",
                .objects([
                    insert("Team", 1, ["name": .string("Qatar"), "wins": .int(0)], member: 3),
                    insert("Team", 2, ["name": .string("Senegal, \"lions\"")]),
                    insert("Player", 3, ["name": .string("Maryam\nO'Neil"), "team": team(1)]),
                ])),
            transaction(
                1_800_000_000, "worldcup score",
                .objects([update("Team", 1, ["name": .string("Qatar")], "wins", .int(0), .int(1))])
            ),
            transaction(
                3_600_000_000, "worldcup score",
                .objects([
                    update(
                        "Player", 3, ["name": .string("Maryam\nO'Neil")], "team", team(1), team(2)),
                    touch(1, isAdded: false), touch(2, isAdded: true),
                ]), unit: "score.service"),
            transaction(
                90_000_000_000, "cleaner",
                .objects([delete("Team", 1, ["name": .string("Qatar"), "wins": .int(1)])])),
        ]
    }

    private func transaction(
        _ later: Int64, _ author: String, _ content: Transaction.Content, unit: String = "",
        saveID: String = "save"
    ) -> Transaction {
        Transaction(
            time: Self.night + 123_456 + later,
            principal: Principal(
                author: author, context: "main", unit: unit, uid: 1_000, gid: 100, pid: 42),
            saveID: Array(saveID.utf8), content: content)
    }

    private func entity(_ name: String) -> CompiledEntity {
        model.entity(named: name) ?? model.entities[0]
    }

    private func reference(_ name: String, _ number: Int) -> ObjectReference {
        ObjectReference(tag: entity(name).tag, number: UInt64(number))
    }

    private func team(_ number: Int) -> PropertyValue { .reference(reference("Team", number)) }

    private func row(_ name: String, _ values: [String: PropertyValue]) -> Row {
        let entity = entity(name)
        return Row(
            entity.properties.map { values[$0.name] ?? .null }, of: entity, version: model.version)
    }

    private func mask(_ name: String, _ names: some Sequence<String>) -> PropertyMask {
        PropertyMask(names.compactMap { entity(name).slot(of: $0) })
    }

    private func insert(
        _ name: String, _ number: Int, _ values: [String: PropertyValue], member: Int? = nil
    ) -> Change {
        let names = Array(values.keys) + (member == nil ? [] : ["players"])
        return Change(
            .insert, reference(name, number), changed: mask(name, names), row: row(name, values),
            links: member.map { [link($0, isAdded: true)] } ?? [])
    }

    /// Returns the link change of a player who joins or leaves a team.
    private func link(_ player: Int, isAdded: Bool) -> LinkChange {
        LinkChange(
            slot: entity("Team").slot(of: "players") ?? 0, target: reference("Player", player),
            isAdded: isAdded)
    }

    private func delete(_ name: String, _ number: Int, _ values: [String: PropertyValue]) -> Change
    {
        Change(
            .delete, reference(name, number), changed: mask(name, values.keys),
            deleted: row(name, values))
    }

    private func update(
        _ name: String, _ number: Int, _ values: [String: PropertyValue], _ property: String,
        _ before: PropertyValue, _ after: PropertyValue
    ) -> Change {
        var values = values
        values[property] = after
        let slot = entity(name).slot(of: property) ?? 0
        return Change(
            .update, reference(name, number), changed: mask(name, [property]),
            row: row(name, values), before: [SlotValue(slot: slot, value: before)])
    }

    private func touch(_ number: Int, isAdded: Bool) -> Change {
        Change(
            .touch, reference("Team", number), changed: mask("Team", ["players"]),
            links: [link(3, isAdded: isAdded)])
    }
}

extension MadeJournal {
    /// Runs `tandem` on the directory.
    func tandem(_ arguments: [String]) throws -> CommandRun {
        try CommandRun("tandem", arguments + ["-D", store])
    }

    /// Runs `tandem` on the directory, with times in a given zone.
    func tandem(_ arguments: [String], zone: String) throws -> CommandRun {
        try CommandRun(
            path: "/usr/bin/env",
            ["TZ=\(zone)", DaemonProcess.products + "/tandem"] + arguments + ["-D", store])
    }
}
